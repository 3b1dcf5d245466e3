// Links between routers: each direction is half of a line, in the colour of its load, thicker while packets are queued.
// Thousands of them are drawn at once, grouped by colour and width; the drawing above handles clicks.

const KEYS = 64; // number of widths for each colour
const MARGIN = 0.25; // fraction of the view drawn beyond each edge, so that the view can move this far

/** A canvas below the drawing that follows the drawing's view. */
export class LinkLayer {
  constructor(core, canvas) {
    this.core = core;
    this.canvas = canvas;
    this.halves = [];
    this.paths = [];
    this.pan = {x: 0, y: 0};
    core.on("render", () => this.follow());
  }

  /** Sets the positions of all links: edges of the drawing, with the indexes of their directions. */
  show(links) {
    this.halves = links.flatMap(({edge, directions}) => {
      const ends = [edge.source().position(), edge.target().position()];
      const bend = edge.hasClass("level") ? edge.controlPoints()?.[0] : null;
      return directions.map((at, end) => ({at, edge, line: half(ends[end], ends[1 - end], bend)}));
    });
    this.paths = [];
  }

  /** Draws all directions; `look(index)` returns a colour and a width, or null for a hidden direction. */
  update(look) {
    const groups = new Map();
    for (const {at, line} of this.halves) {
      const seen = look(at);
      if (!seen) continue;
      const key = seen.step * KEYS + seen.width;
      const group = groups.get(key);
      if (group) group.lines.push(line);
      else groups.set(key, {colour: seen.colour, width: seen.width, step: seen.step, lines: [line]});
    }
    this.paths = [...groups.values()].sort((one, other) => one.step - other.step); // busy ones on top
    this.draw();
  }

  /** Moves the canvas with the view; redraws if that does not suffice. */
  follow() {
    const pan = this.core.pan(), box = this.canvas.parentElement;
    const moved = {x: pan.x - this.pan.x, y: pan.y - this.pan.y};
    const near = Math.abs(moved.x) < MARGIN * box.clientWidth && Math.abs(moved.y) < MARGIN * box.clientHeight;
    const same = this.core.zoom() === this.zoom && this.size === `${box.clientWidth}x${box.clientHeight}`;
    if (near && same) this.canvas.style.transform = `translate(${moved.x}px, ${moved.y}px)`;
    else this.draw();
  }

  draw() {
    const {canvas} = this, box = canvas.parentElement, ratio = Math.min(devicePixelRatio, 2);
    const [wide, high] = [box.clientWidth, box.clientHeight];
    this.pan = {...this.core.pan()};
    this.zoom = this.core.zoom();
    this.size = `${wide}x${high}`;
    const width = Math.round((1 + 2 * MARGIN) * wide * ratio), height = Math.round((1 + 2 * MARGIN) * high * ratio);
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, {width, height});
    Object.assign(canvas.style, {transform: "", left: `${-MARGIN * wide}px`, top: `${-MARGIN * high}px`,
      width: `${width / ratio}px`, height: `${height / ratio}px`});
    const context = canvas.getContext("2d"), zoom = this.zoom * ratio;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, width, height);
    context.setTransform(zoom, 0, 0, zoom, (this.pan.x + MARGIN * wide) * ratio, (this.pan.y + MARGIN * high) * ratio);
    for (const {colour, width: thick, lines} of this.paths) {
      context.strokeStyle = colour;
      context.lineWidth = thick;
      for (const [from, bend, to] of lines) {
        // Drawing each line as its own path is several times as fast as one path of crossing lines.
        context.beginPath();
        context.moveTo(from.x, from.y);
        if (to) context.quadraticCurveTo(bend.x, bend.y, to.x, to.y);
        else context.lineTo(bend.x, bend.y);
        context.stroke();
      }
    }
  }
}

/** Returns the points of a link's half at its first end: of a line, or of a curve with one control point. */
function half(from, to, bend) {
  const middle = (one, other) => ({x: (one.x + other.x) / 2, y: (one.y + other.y) / 2});
  if (!bend) return [from, middle(from, to)];
  const first = middle(from, bend);
  return [from, first, middle(first, middle(bend, to))];
}

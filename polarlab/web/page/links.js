// Links between routers: each direction is half of a line, in the colour of its load, thicker while packets wait.
// Thousands of them are drawn at once, a stroke for each look; the drawing above keeps what is clicked.

const KEYS = 64; // looks of a colour: widths
const MARGIN = 0.25; // of the view, drawn on each side of it as well: the view may move so far

/** A canvas below the drawing, which follows its view. */
export class LinkLayer {
  constructor(core, canvas) {
    this.core = core;
    this.canvas = canvas;
    this.halves = [];
    this.paths = [];
    this.pan = {x: 0, y: 0};
    core.on("render", () => this.follow());
  }

  /** Takes the places of all links: edges of the drawing, with the places of their directions. */
  show(links) {
    this.halves = links.flatMap(({edge, directions}) => {
      const ends = [edge.source().position(), edge.target().position()];
      const bend = edge.hasClass("level") ? edge.controlPoints()?.[0] : null;
      return directions.map((at, end) => ({at, edge, line: half(ends[end], ends[1 - end], bend)}));
    });
    this.paths = [];
  }

  /** Takes the looks of all directions: a colour and a width for each; null for one that is not drawn. */
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
    this.paths = [...groups.values()].sort((one, other) => one.step - other.step); // the busy ones above
    this.draw();
  }

  /** Moves what is drawn with the view, and draws anew where that does not do. */
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
        // A path of its own for each is drawn several times as fast as one for all, which cross one another.
        context.beginPath();
        context.moveTo(from.x, from.y);
        if (to) context.quadraticCurveTo(bend.x, bend.y, to.x, to.y);
        else context.lineTo(bend.x, bend.y);
        context.stroke();
      }
    }
  }
}

/** Returns the points of the half of a link at its first end: of a line, or of a curve by one control point. */
function half(from, to, bend) {
  const middle = (one, other) => ({x: (one.x + other.x) / 2, y: (one.y + other.y) / 2});
  if (!bend) return [from, middle(from, to)];
  const first = middle(from, bend);
  return [from, first, middle(first, middle(bend, to))];
}

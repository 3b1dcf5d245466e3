// Drawing of the fabric: switches at their positions in the topology's layout, links coloured by load.

import cytoscape from "./vendor/cytoscape.mjs";
import {isDark, scale, step, variable} from "./colours.js";
import {LinkLayer} from "./links.js";
import {make} from "./text.js";

const SPACE = 180; // average side length of the layout per switch, in units of the drawing
const KINDS = ["ellipse", "round-rectangle", "diamond", "triangle", "hexagon", "star", "pentagon", "octagon"];
const FULL_QUEUE_WIDTH = 6;
const BOTTOM = 90; // height of the slider and the legend
const MARKED_WIDTH = 6, MARKED_FONT = 18; // on the screen, at any zoom

function styles() {
  const ink = variable("--ink"), bad = variable("--dead"), accent = variable("--accent");
  return [
    {selector: "node", style: {
      "background-color": isDark() ? "#8fa3bd" : "#5b6b82", "width": 16, "height": 16, "label": "data(label)",
      "font-size": 12, "color": ink, "text-valign": "top", "text-margin-y": -2, "min-zoomed-font-size": 8}},
    {selector: "node[shape]", style: {"shape": "data(shape)"}},
    {selector: "node.highlight", style: {"background-color": "#e69f00"}},
    {selector: "node.host", style: {"width": 8, "height": 8, "background-color": isDark() ? "#56b4e9" : "#0072b2",
      "font-size": 8}},
    // The loads of links are drawn on the layer below (links.js); the edges here are for clicks and marks.
    {selector: "edge", style: {"curve-style": "haystack", "haystack-radius": 0, "width": 6, "line-opacity": 0,
      "overlay-padding": 3}},
    {selector: "edge.level", style: {"curve-style": "unbundled-bezier", "control-point-distances": -45,
      "control-point-weights": 0.5}},
    {selector: "edge.host", style: {"width": 1, "line-opacity": 1, "line-color": variable("--line")}},
    {selector: ".failed", style: {"background-color": bad, "border-width": 3, "border-color": bad,
      "background-opacity": 0.25}},
    {selector: "edge.dead", style: {"line-color": bad, "line-opacity": 1, "z-index": 3}},
    {selector: "edge.around", style: {"line-color": variable("--around"), "line-opacity": 1, "z-index": 2}},
    {selector: "node.marked", style: {"border-width": 3, "border-color": ink, "z-index": 4}},
    {selector: "edge.drained", style: {"curve-style": "straight", "line-style": "dotted", "line-opacity": 1,
      "line-color": accent, "width": 3}},
    {selector: "node.drained", style: {"border-width": 3, "border-style": "dotted", "border-color": accent}},
    {selector: "edge.path", style: {"overlay-color": "#e69f00", "overlay-opacity": 0.75, "overlay-padding": 4}},
    {selector: "edge.other", style: {"overlay-color": "#009e73", "overlay-opacity": 0.35, "overlay-padding": 3}},
    {selector: ":selected", style: {"overlay-color": accent, "overlay-opacity": 0.45, "overlay-padding": 5}},
    {selector: "edge.dead:selected", style: {"overlay-color": bad}},
  ];
}

/** Drawing in an element of the page; calls `select(kind, name)` when the user selects something. */
export class Graph {
  constructor(element, layer, select) {
    this.element = element;
    this.colours = scale();
    this.core = cytoscape({
      container: element, style: styles(), minZoom: 0.05, maxZoom: 12,
      textureOnViewport: false, hideEdgesOnViewport: false, pixelRatio: Math.min(devicePixelRatio, 2),
      autoungrabify: true, boxSelectionEnabled: false,
    });
    this.core.on("tap", "node, edge", (event) => {
      const data = event.target.data();
      select(data.kind, data.name);
    });
    this.core.on("tap", (event) => event.target === this.core && select("", ""));
    this.links = [];
    this.layer = new LinkLayer(this.core, layer);
    this.marks = [];
    this.core.on("render", () => this.placeMarks());
    this.core.on("zoom", () => this.scaleMarked());
  }

  /** Draws another fabric. */
  show(fabric) {
    this.fabric = fabric;
    const xs = fabric.positions.map(([x]) => x), ys = fabric.positions.map(([, y]) => y);
    const low = [Math.min(...xs), Math.min(...ys)];
    const span = Math.max(Math.max(...xs) - low[0], Math.max(...ys) - low[1], 1e-9);
    const size = SPACE * Math.sqrt(fabric.routers);
    const nodes = fabric.positions.map(([x, y], router) => ({
      group: "nodes", data: {id: `s${router + 1}`, name: `s${router + 1}`, kind: "switch", label: "",
        shape: KINDS[fabric.kind[router] % KINDS.length]},
      position: {x: (x - low[0]) / span * size, y: -(y - low[1]) / span * size},
    }));
    const level = (link) => fabric.rows && Math.abs(ys[link.ends[0]] - ys[link.ends[1]]) < 1e-9;
    const edges = fabric.links.map((link) => ({
      group: "edges", classes: level(link) ? "level" : "", data: {id: `link:${link.name}`, name: link.name, kind: "link",
        source: `s${link.ends[0] + 1}`, target: `s${link.ends[1] + 1}`},
    }));
    this.core.elements().remove();
    this.core.add([...nodes, ...edges]);
    this.links = fabric.links.map((link) => ({...link, edge: this.core.getElementById(`link:${link.name}`), look: ""}));
    this.core.fit(undefined, 55);
    this.shown = "";
    this.layer.show(this.links);
    this.layer.update(() => ({colour: this.colours[0], width: 2, step: 0}));
  }

  /** Shows a state. */
  update(state) {
    if (!this.fabric || state.load.length !== 2 * this.links.length) return;
    const down = new Set(state.down), drained = new Set(state.drained), queue = this.fabric.queue_packets;
    const hidden = new Set();
    this.core.batch(() => {
      for (const link of this.links) {
        const dead = link.directions.some((at) => down.has(at)), isDrained = drained.has(`link:${link.name}`);
        if (dead || isDrained) link.directions.forEach((at) => hidden.add(at));
        const look = `${dead}|${isDrained}`;
        if (look !== link.look) link.edge.toggleClass("dead", dead).toggleClass("drained", isDrained && !dead);
        link.look = look;
      }
      this.mark("switch:", state.failed, "failed");
      this.mark("hang:", state.failed, "failed", false);
      this.mark("switch:", state.drained, "drained");
    });
    this.showFailures(state);
    this.layer.update((at) => {
      if (hidden.has(at)) return null;
      const place = step(state.load[at]);
      return {colour: this.colours[place], step: place,
        width: Math.round(2 + Math.min(1, state.waiting[at] / queue) * FULL_QUEUE_WIDTH)};
    });
  }

  /** Names what has failed, and draws the ways around. */
  showFailures(state) {
    const failed = state.failed.map((name) => name.split(":"));
    const links = new Set(failed.filter(([kind]) => kind === "link").map(([, name]) => name));
    const switches = failed.filter(([kind]) => kind === "switch" || kind === "hang");
    const off = new Set(switches.map(([, name]) => name));
    const marks = switches.map(([kind, name]) => ({id: name, text: `✕ ${name} ${kind === "hang" ? "hung" : "failed"}`}));
    this.core.edges(".dead").forEach((edge) => {
      const {name, source, target} = edge.data();
      const asked = links.has(name) || links.has(`${source}-${target}`);
      if (!off.has(source) && !off.has(target)) marks.push({id: edge.id(), text: `✕ ${name} ${asked ? "failed" : "is down"}`});
    });
    if (state.around.length) marks.push({path: state.around[0], text: `↷ ${state.around[0].join(" → ")}`});
    const key = JSON.stringify([marks, state.around]);
    if (key === this.shown) return;
    this.shown = key;
    this.core.batch(() => {
      this.core.elements(".around, .marked").removeClass("around marked");
      for (const path of state.around) {
        for (let at = 1; at < path.length; at++) {
          this.core.$(`#${path[at - 1]}`).edgesWith(`#${path[at]}`).not(".dead").addClass("around");
        }
        path.forEach((name) => this.core.getElementById(name).addClass("marked"));
      }
      this.names(this.namesShown);
    });
    this.scaleMarked();
    const nodes = marks.map(({text, path}) => make("span", text, [], path ? {class: "around"} : {}));
    document.getElementById("marks").replaceChildren(...nodes);
    this.marks = marks.map((mark, at) => ({...mark, node: nodes[at]}));
    this.placeMarks();
  }

  /** Keeps the width of marked links and the names of marked switches on the screen. */
  scaleMarked() {
    const zoom = this.core.zoom();
    this.core.batch(() => {
      this.core.edges().removeStyle("width");
      this.core.edges(".dead, .around").style("width", MARKED_WIDTH / zoom);
      this.core.nodes().removeStyle("font-size min-zoomed-font-size");
      this.core.nodes(".marked").style({"font-size": MARKED_FONT / zoom, "min-zoomed-font-size": 0});
    });
  }

  /** Moves the names of failures with the drawing, so that they do not cover one another. */
  placeMarks() {
    const placed = [], high = this.element.clientHeight;
    for (const {id, path, node} of this.marks) {
      const found = this.core.getElementById(path ? path[Math.floor(path.length / 2)] : id);
      if (found.empty()) continue;
      const at = found.isEdge() ? found.renderedMidpoint() : found.renderedPosition();
      const half = node.offsetWidth / 2, tall = node.offsetHeight, edge = half + 8;
      const x = Math.max(edge, Math.min(at.x, this.element.clientWidth - edge));
      const free = (y) => placed.every((one) => Math.abs(one.x - x) > one.half + half || Math.abs(one.y - y) > (one.tall + tall) / 2);
      const base = at.y + (found.isEdge() ? 0 : 1.2 * tall);
      const steps = [0, -1, 1, -2, 2, -3, 3].map((step) => base + 1.1 * step * tall);
      const y = steps.find((one) => free(one) && one > tall && one < high - BOTTOM) ?? base;
      placed.push({x, y, half, tall});
      Object.assign(node.style, {left: `${x}px`, top: `${y}px`});
    }
  }

  /** Adds a class to the switches in a list of names, and by default removes it from the others. */
  mark(prefix, elements, name, removes = true) {
    const marked = new Set(elements.filter((one) => one.startsWith(prefix)).map((one) => one.slice(prefix.length)));
    this.core.nodes("[kind = 'switch']").forEach((node) => {
      if (marked.has(node.id())) node.addClass(name);
      else if (removes) node.removeClass(name);
    });
  }

  /** Selects a switch, host or link by name; returns whether it exists. */
  select(kind, name) {
    this.core.elements(":selected").unselect();
    const selected = this.core.getElementById(kind === "link" ? `link:${name}` : name);
    selected.select();
    return selected.nonempty();
  }

  /** Highlights paths, each a list of switches. */
  paths(taken, others) {
    this.core.edges(".path, .other").removeClass("path other");
    for (const [list, name] of [[others, "other"], [taken, "path"]]) {
      for (const switches of list) {
        for (let at = 1; at < switches.length; at++) {
          const ends = [`#${switches[at - 1]}`, `#${switches[at]}`];
          this.core.$(ends[0]).edgesWith(ends[1]).removeClass("other").addClass(name);
        }
      }
    }
  }

  /** Shows or hides the names of switches. */
  names(shown) {
    this.namesShown = shown;
    this.core.nodes().forEach((node) => node.data("label", shown || node.hasClass("marked") ? node.data("name") : ""));
  }

  /** Shows or hides hosts, around their switches. */
  hosts(shown) {
    this.core.elements(".host").remove();
    if (!shown || !this.fabric) return;
    const count = new Map();
    this.fabric.host_routers.forEach((router) => count.set(router, (count.get(router) || 0) + 1));
    const placed = new Map();
    const added = this.fabric.hosts.flatMap((name, at) => {
      const router = this.fabric.host_routers[at], number = placed.get(router) || 0;
      placed.set(router, number + 1);
      const angle = 2 * Math.PI * (number / count.get(router) + 0.125);
      const centre = this.core.getElementById(`s${router + 1}`).position();
      return [
        {group: "nodes", classes: "host", data: {id: name, name, kind: "host", label: ""},
          position: {x: centre.x + 22 * Math.cos(angle), y: centre.y + 22 * Math.sin(angle)}},
        {group: "edges", classes: "host", data: {id: `link:s${router + 1}-${name}`, name: `s${router + 1}-${name}`,
          kind: "link", source: `s${router + 1}`, target: name}},
      ];
    });
    this.core.add(added);
  }

  zoom(factor) {
    const box = this.element.getBoundingClientRect();
    this.core.zoom({level: this.core.zoom() * factor, renderedPosition: {x: box.width / 2, y: box.height / 2}});
  }

  fit() { this.core.fit(undefined, 55); }

  /** Applies the colours of the current theme. */
  theme() {
    this.colours = scale();
    this.core.style(styles());
    this.scaleMarked();
    this.links.forEach((link) => { link.look = ""; });
  }
}

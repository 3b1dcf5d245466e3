// Panels beside the drawing: the latest change, what happened, traffic, and paths.

import {ask} from "./api.js";
import {Chart} from "./charts.js";
import {element, facts, make, milliseconds, percent, share} from "./text.js";

const MOST_ENTRIES = 500;
const FRAME_BITS = 8000, GENTLE_FRAMES = 2000; // frames a second

/** The latest change: what was lost, and who repaired it. */
export function showIncident(incident) {
  element("incident").hidden = !incident;
  if (!incident) return;
  element("incident-what").textContent = incident.what;
  const silent = incident.running && incident.repaired_ms === null;
  const by = {switches: "switches, by fast reroute", controller: "the controller"};
  const repaired = incident.repaired_ms === null
    ? (silent ? "not yet" : incident.sent ? "nobody" : "no pair is affected")
    : incident.lost ? `${by[incident.repaired_by] || incident.repaired_by || "somebody"}, after ${milliseconds(incident.repaired_ms)}`
      : "nothing was lost";
  facts(element("incident-facts"), [
    ["probes lost", `${incident.lost} of ${incident.sent}`, incident.lost ? "bad" : "good"],
    ["longest silence", milliseconds(incident.silence_ms)],
    ["repaired by", repaired, silent ? "bad" : "good"],
    ["controller's plan in place", incident.planned_ms === null ? "–" : `after ${milliseconds(incident.planned_ms)}`],
    ["probed", `${incident.pairs} pairs of hosts, every ${milliseconds(incident.interval_ms)}`],
    ...ofTraffic(incident.traffic),
  ]);
}

/** Rows on the traffic that runs, beside those of the probes. */
function ofTraffic(traffic) {
  if (!traffic) return [];
  return [
    ["traffic's longest silence", `${milliseconds(traffic.silence_ms)}, ${traffic.pair} (before: ${milliseconds(traffic.before_ms)})`],
    ["packets of the traffic lost", traffic.ongoing ? `at least ${traffic.lost}; the silence goes on` : String(traffic.lost),
      traffic.lost || traffic.ongoing ? "bad" : "good"],
  ];
}

const rounded = (value) => String(+Number(value).toPrecision(4));

/** Parameters of an adaptive routing, changed while it runs. */
export class Routing {
  constructor(tell) {
    this.tell = tell;
    this.name = "";
    element("routing-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.change((field) => field.value);
    });
    element("routing-launched").addEventListener("click", () => this.change((field) => field.dataset.launched));
  }

  show(fabric) {
    this.name = "";
    this.fabric = fabric;
    element("routing").hidden = !fabric.parameters.length;
    element("routing-fields").replaceChildren(...fabric.parameters.flatMap((one) => {
      const field = make("input", "", [], {id: `routing-${one.name}`, "data-name": one.name, "data-launched": one.value,
        type: "number", step: one.whole ? "1" : "any"});
      field.value = field.dataset.present = rounded(one.value);
      for (const [name, bound] of [["min", one.least ?? one.above], ["max", one.most]]) {
        if (bound !== null) field.setAttribute(name, bound);
      }
      return [make("label", one.name, [], {for: field.id, title: one.help}), field];
    }));
    for (const button of element("routing-form").querySelectorAll("button")) {
      button.disabled = !fabric.actions.includes("set-routing");
    }
  }

  fields() { return [...element("routing-fields").querySelectorAll("input")]; }

  change(value) {
    // Those that are as they were are not sent: they are shown rounded, and would be others.
    const changed = this.fields().filter((field) => rounded(value(field)) !== rounded(field.dataset.present));
    if (!changed.length) return;
    const parameters = changed.map((field) => `${field.dataset.name}=${value(field)}`).join(",");
    this.tell(async () => this.fill(await ask("POST", "api/routing", {parameters})));
  }

  fill(status) {
    for (const field of this.fields()) field.value = field.dataset.present = rounded(status.values[field.dataset.name]);
  }

  /** Takes a state; the values are asked for when the routing is another. */
  update(state) {
    element("routing-name").textContent = state.routing || this.fabric.routing;
    if (!state.routing || state.routing === this.name || !this.fabric.actions.includes("routing")) return;
    this.name = state.routing;
    this.tell(async () => this.fill(await ask("GET", "api/routing")));
  }
}

/** Adds events to the timeline. */
export function addEntries(entries) {
  const list = element("entries");
  if (entries[0]?.number === 0) list.replaceChildren(); // of another fabric, at the same address
  const low = list.scrollTop + list.clientHeight >= list.scrollHeight - 30;
  for (const entry of entries) {
    const line = make("li", "", [make("time", `${entry.time_s.toFixed(3)}`), make("span", entry.text)]);
    line.className = entry.kind;
    line.dataset.time = entry.time_s;
    // Some are known only after what came later: the place is by time.
    let next = null;
    while ((next ? next.previousSibling : list.lastChild)?.dataset.time > entry.time_s) {
      next = next ? next.previousSibling : list.lastChild;
    }
    list.insertBefore(line, next);
  }
  while (list.children.length > MOST_ENTRIES) list.firstChild.remove();
  if (low) list.scrollTop = list.scrollHeight;
}

/** Traffic of a session: begun, ended and measured from the page. */
export class Traffic {
  constructor(tell) {
    this.tell = tell;
    this.throughput = new Chart(element("throughput"), "of the hosts' capacity, and of packets", ["offered", "accepted", "loss", "out of order"]);
    this.latency = new Chart(element("latency"), "latency", ["median", "p99"], "ms");
    element("traffic-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.tell(async () => ask("POST", "api/traffic", this.request()));
    });
    element("traffic-stop").addEventListener("click", () => this.tell(async () => ask("DELETE", "api/traffic")));
    element("measure").addEventListener("click", () => this.tell(async () => this.measure()));
    element("measure-stop").addEventListener("click", () => this.tell(async () => ask("DELETE", "api/results")));
    element("pattern").addEventListener("change", () => this.choose());
  }

  /** Whether the pattern that is chosen is a collective operation. */
  get collective() { return Boolean(this.fabric?.collectives.includes(element("pattern").value)); }

  /** Shows the fields of the pattern that is chosen; a collective ends by itself, and is measured only. */
  choose() {
    for (const [kind, shown] of [["of-pattern", !this.collective], ["of-collective", this.collective]]) {
      for (const one of element("traffic-form").querySelectorAll(`.${kind}`)) one.hidden = !shown;
    }
    element("traffic-start").hidden = element("traffic-stop").hidden = this.collective;
  }

  show(fabric) {
    this.fabric = fabric;
    const group = (label, names) => make("optgroup", "", names.map((name) => make("option", name)), {label});
    element("pattern").replaceChildren(group("patterns", fabric.patterns), group("collectives", fabric.collectives));
    element("pattern").value = "uniform";
    this.choose();
    // What the switches of a small machine carry without holding frames, where links are fast.
    const framesAtOne = fabric.hosts.length * fabric.link_rate_bps / FRAME_BITS;
    element("load").value = String(Math.max(0.01, Math.floor(100 * Math.min(0.3, GENTLE_FRAMES / framesAtOne)) / 100));
    element("traffic-form").hidden = !fabric.actions.includes("start-traffic");
    element("measure").disabled = !fabric.actions.includes("measure");
    element("measure-stop").disabled = !fabric.actions.includes("stop-measurement");
    this.throughput.clear();
    this.latency.clear();
    if (fabric.actions.includes("results")) this.results();
  }

  request() {
    return {pattern: element("pattern").value, load: Number(element("load").value), seed: Number(element("seed").value)};
  }

  async measure() {
    const button = element("measure");
    button.disabled = true;
    button.textContent = "measuring …";
    try {
      if (this.collective) {
        await ask("POST", "api/collectives", {pattern: element("pattern").value, message_bytes: element("message-bytes").value,
          iterations: Number(element("times").value), seed: Number(element("seed").value)});
      } else {
        await ask("POST", "api/results", {...this.request(), duration: Number(element("duration").value)});
      }
      await this.results();
    } finally {
      button.disabled = false;
      button.textContent = "measure";
    }
  }

  async results() {
    const names = await ask("GET", "api/results");
    element("results").replaceChildren(...names.map((name) => make("li", "", [
      make("a", name, [], {href: `api/results/${encodeURIComponent(name)}`, download: `${name}.zip`})])));
  }

  update(state) {
    const traffic = state.traffic;
    this.progress(state.collective);
    element("traffic-stop").disabled = !traffic;
    element("traffic-start").disabled = Boolean(traffic);
    if (!traffic) {
      element("traffic-state").textContent = state.collective ? `${state.collective.pattern} is measured` : "none";
      return;
    }
    element("traffic-state").textContent = `${traffic.pattern} offered ${share(traffic.offered)}, accepted `
      + `${share(traffic.accepted)}, loss ${percent(traffic.loss)}, p99 ${milliseconds(traffic.latency_p99_ms)}`
      + (state.detoured === null ? "" : `, ${percent(state.detoured)} of buckets on detours`);
    if (traffic.seconds !== this.last) {
      this.last = traffic.seconds;
      this.throughput.add(state.time_s, [traffic.offered, traffic.accepted, traffic.loss, traffic.out_of_order]);
      this.latency.add(state.time_s, [traffic.latency_p50_ms, traffic.latency_p99_ms]);
    }
  }

  /** Shows how far a collective operation is. */
  progress(collective) {
    element("collective").hidden = !collective;
    if (!collective) return;
    const bar = element("collective-done");
    if (collective.done === null) bar.removeAttribute("value");
    else bar.value = collective.done;
    const seconds = (value) => (value === null ? "–" : `${value.toFixed(1)} s`);
    element("collective-text").textContent = `${collective.pattern} of ${collective.ranks} ranks: `
      + `${percent(collective.done)} of its messages have arrived after ${seconds(collective.seconds)} of about `
      + `${seconds(collective.expected_s)}; accepted ${share(collective.accepted)} of the ranks' capacity, p99 `
      + milliseconds(collective.latency_p99_ms);
  }

  theme() { this.throughput.theme(); this.latency.theme(); }
}

/** Paths between two places: those taken, the alternatives, and those without some link. */
export class Paths {
  constructor(graph, tell) {
    element("path-form").addEventListener("submit", (event) => {
      event.preventDefault();
      tell(async () => {
        const query = new URLSearchParams({source: element("path-from").value.trim(),
          destination: element("path-to").value.trim(), without: element("path-without").value.trim()});
        const found = await ask("GET", `api/path?${query}`);
        const chosen = found.without.length ? found.without : found.paths;
        graph.paths(chosen.map((path) => path.switches), found.alternatives.map((path) => path.switches));
        this.list(found);
      });
    });
  }

  list(found) {
    const lines = (paths, controllers) => paths.map((path) => make("li", `${path.switches.join(" → ")}`
      + (controllers ? "" : ` (${percent(path.share)})`) + (path.ends ? `: ${path.ends}` : "")));
    const part = (title, paths, controllers) => (paths.length
      ? [make("h3", title), make("ul", "", lines(paths, controllers))] : []);
    const probes = Object.entries(found.probes).map(([hops, count]) => `${count} over ${hops} hops`).join(", ");
    element("path-result").replaceChildren(
      ...found.words.map((words) => make("p", words)),
      ...part(`${found.source} to ${found.destination}${found.failed.length ? `, without ${found.failed.join(", ")}` : ""}`,
        found.paths),
      ...part("without what is asked for, before the controller has planned again", found.without),
      ...part("the controller may send some flows by these instead", found.alternatives, true),
      make("p", `probes now: ${probes || "none arrived"}, ${found.lost} lost`));
  }
}

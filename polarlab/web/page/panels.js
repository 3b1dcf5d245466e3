// Panels beside the drawing: the latest change, the timeline, traffic, and paths.

import {ask} from "./api.js";
import {Chart} from "./charts.js";
import {element, facts, make, milliseconds, percent, rounded, share} from "./text.js";

const MAX_ENTRIES = 500;
const FRAME_BITS = 8000, GENTLE_FRAMES = 2000; // frames a second

/** Shows the latest change: the losses, and what repaired them. */
export function showIncident(incident) {
  element("incident").hidden = !incident;
  if (!incident) return;
  element("incident-what").textContent = incident.what;
  const silent = incident.running && incident.repaired_ms === null;
  const by = {switches: "switches, by fast reroute", controller: "the controller"};
  const repaired = incident.repaired_ms === null
    ? (silent ? "not yet" : incident.sent ? "not repaired" : "no pair is affected")
    : incident.lost ? `${by[incident.repaired_by] || incident.repaired_by || "unknown"}, after ${milliseconds(incident.repaired_ms)}`
      : "nothing was lost";
  facts(element("incident-facts"), [
    ["probes lost", `${incident.lost} of ${incident.sent}`, incident.lost ? "bad" : "good"],
    ["longest silence", milliseconds(incident.silence_ms)],
    ["repaired by", repaired, silent ? "bad" : "good"],
    ["controller's plan installed", incident.planned_ms === null ? "–" : `after ${milliseconds(incident.planned_ms)}`],
    ["probed", `${incident.pairs} pairs of hosts, every ${milliseconds(incident.interval_ms)}`],
    ...ofTraffic(incident.traffic),
  ]);
}

/** Returns the rows about running traffic, in addition to the rows about probes. */
function ofTraffic(traffic) {
  if (!traffic) return [];
  return [
    ...(traffic.seldom ? [] : [["traffic's longest silence",
      `${milliseconds(traffic.silence_ms)}, ${traffic.pair} (before: ${milliseconds(traffic.before_ms)})`]]),
    ["packets of the traffic lost", traffic.ongoing ? `at least ${traffic.lost}; the silence continues` : String(traffic.lost),
      traffic.lost || traffic.ongoing ? "bad" : "good"],
  ];
}

/** Parameters of an adaptive routing, changed while it runs. */
export class Routing {
  constructor(verbs) {
    this.verbs = verbs;
    this.name = "";
    verbs.answers["set-routing"] = (status) => this.fill(status);
  }

  show(fabric) {
    this.name = "";
    this.fabric = fabric;
    element("routing").hidden = !fabric.parameters.length;
  }

  fill(status) {
    for (const field of element("routing").querySelectorAll("input, select")) {
      const value = status.values[field.dataset.name];
      field.value = field.dataset.present = field.type === "number" ? rounded(value) : value;
    }
  }

  /** Shows a state; requests the parameter values when the routing has changed. */
  update(state) {
    element("routing-name").textContent = state.routing || this.fabric.routing;
    if (!state.routing || state.routing === this.name || !this.fabric.actions.includes("routing")) return;
    this.name = state.routing;
    this.verbs.attempt(async () => this.fill(await ask("GET", "api/routing")));
  }
}

/** Adds events to the timeline. */
export function addEntries(entries) {
  const list = element("entries");
  if (entries[0]?.number === 0) list.replaceChildren(); // another fabric at the same address
  const low = list.scrollTop + list.clientHeight >= list.scrollHeight - 30;
  for (const entry of entries) {
    const line = make("li", "", [make("time", `${entry.time_s.toFixed(3)}`), make("span", entry.text)]);
    line.className = entry.kind;
    line.dataset.time = entry.time_s;
    // Entries are sorted by time: some become known only after later ones.
    let next = null;
    while ((next ? next.previousSibling : list.lastChild)?.dataset.time > entry.time_s) {
      next = next ? next.previousSibling : list.lastChild;
    }
    list.insertBefore(line, next);
  }
  while (list.children.length > MAX_ENTRIES) list.firstChild.remove();
  if (low) list.scrollTop = list.scrollHeight;
}

/** Traffic of a session: started, stopped and measured from the page. */
export class Traffic {
  constructor(verbs) {
    this.throughput = new Chart(element("throughput"), "fraction of hosts' capacity, or of packets", ["offered", "accepted", "loss", "out of order"]);
    this.latency = new Chart(element("latency"), "latency", ["median", "p99"], "ms");
    verbs.answers.measure = verbs.answers["measure-collective"] = () => this.results();
  }

  show(fabric) {
    this.replay = Boolean(fabric.replay);
    // With fast links, limit the default to what the switches of a small machine forward without holding frames.
    const framesAtOne = fabric.hosts.length * fabric.link_rate_bps / FRAME_BITS;
    element("traffic-load").value = String(Math.max(0.01, Math.floor(100 * Math.min(0.3, GENTLE_FRAMES / framesAtOne)) / 100));
    this.clear();
    if (fabric.actions.includes("results")) this.results();
  }

  clear() {
    this.throughput.clear();
    this.latency.clear();
    this.last = this.flowing = null;
  }

  async results() {
    const names = await ask("GET", "api/results");
    element("results").replaceChildren(...names.map((name) => make("li", "", [
      make("a", name, [], {href: `api/results/${encodeURIComponent(name)}`, download: `${name}.zip`})])));
  }

  update(state) {
    const traffic = state.traffic;
    this.progress(state.collective);
    if (!traffic) {
      element("traffic-state").textContent = state.collective ? `${state.collective.pattern} is measured` : "no generated packets";
      return;
    }
    element("traffic-state").textContent = `${traffic.pattern} offered ${share(traffic.offered)}, accepted `
      + `${share(traffic.accepted)}, loss ${percent(traffic.loss)}, p99 ${milliseconds(traffic.latency_p99_ms)}`
      + (state.detoured === null ? "" : `, ${percent(state.detoured)} of buckets on detours`);
    if (traffic.load !== this.flowing) { // the form shows the traffic that flows
      this.flowing = traffic.load;
      const field = element("traffic-load");
      if (field && document.activeElement !== field) field.value = String(+traffic.load.toPrecision(3));
    }
    if (state.time_s < this.time) this.clear(); // a replay went back
    this.time = state.time_s;
    const begun = traffic.offered > 0 && (traffic.loss !== null || this.replay);
    if (begun && traffic.seconds !== this.last) {
      this.last = traffic.seconds;
      this.throughput.add(state.time_s, [traffic.offered, traffic.accepted, traffic.loss, traffic.out_of_order]);
      this.latency.add(state.time_s, [traffic.latency_p50_ms, traffic.latency_p99_ms]);
    }
  }

  /** Shows the progress of a collective operation. */
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

/** Paths between two hosts: the current ones, the alternatives, and the paths if some links or switches fail. */
export class Paths {
  constructor(graph, verbs) {
    verbs.answers.path = (report) => {
      const chosen = report.without.length ? report.without : report.paths;
      graph.paths(chosen.map((path) => path.switches), report.alternatives.map((path) => path.switches));
      this.list(report);
    };
  }

  list(report) {
    const lines = (paths, controllers) => paths.map((path) => make("li", `${path.switches.join(" → ")}`
      + (controllers ? "" : ` (${percent(path.share)})`) + (path.ends ? `: ${path.ends}` : "")));
    const part = (title, paths, controllers) => (paths.length
      ? [make("h3", title), make("ul", "", lines(paths, controllers))] : []);
    const probes = Object.entries(report.probes).map(([hops, count]) => `${count} over ${hops} hops`).join(", ");
    element("path-result").replaceChildren(
      ...report.words.map((words) => make("p", words)),
      ...part(`${report.source} to ${report.destination}${report.failed.length ? `, failed: ${report.failed.join(", ")}` : ""}`,
        report.paths),
      ...part("if these fail, until the controller replans", report.without),
      ...part("detours that the controller may use for some flows", report.alternatives, true),
      make("p", `probes now: ${probes || "none arrived"}, ${report.lost} lost`));
  }
}

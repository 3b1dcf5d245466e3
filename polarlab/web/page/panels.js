// Panels beside the drawing: the latest change, what happened, traffic, and paths.

import {ask} from "./api.js";
import {Chart} from "./charts.js";
import {element, facts, make, milliseconds, percent, rounded, share} from "./text.js";

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
    for (const field of element("routing").querySelectorAll("input")) {
      field.value = field.dataset.present = rounded(status.values[field.dataset.name]);
    }
  }

  /** Takes a state; the values are asked for when the routing is another. */
  update(state) {
    element("routing-name").textContent = state.routing || this.fabric.routing;
    if (!state.routing || state.routing === this.name || !this.fabric.actions.includes("routing")) return;
    this.name = state.routing;
    this.verbs.tell(async () => this.fill(await ask("GET", "api/routing")));
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
  constructor(verbs) {
    this.throughput = new Chart(element("throughput"), "of the hosts' capacity, and of packets", ["offered", "accepted", "loss", "out of order"]);
    this.latency = new Chart(element("latency"), "latency", ["median", "p99"], "ms");
    verbs.answers.measure = verbs.answers["measure-collective"] = () => this.results();
  }

  show(fabric) {
    // What the switches of a small machine carry without holding frames, where links are fast.
    const framesAtOne = fabric.hosts.length * fabric.link_rate_bps / FRAME_BITS;
    element("traffic-load").value = String(Math.max(0.01, Math.floor(100 * Math.min(0.3, GENTLE_FRAMES / framesAtOne)) / 100));
    this.throughput.clear();
    this.latency.clear();
    if (fabric.actions.includes("results")) this.results();
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
  constructor(graph, verbs) {
    verbs.answers.path = (found) => {
      const chosen = found.without.length ? found.without : found.paths;
      graph.paths(chosen.map((path) => path.switches), found.alternatives.map((path) => path.switches));
      this.list(found);
    };
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

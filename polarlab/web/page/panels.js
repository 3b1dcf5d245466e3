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
    : incident.lost ? `${by[incident.repaired_by] || incident.repaired_by}, after ${milliseconds(incident.repaired_ms)}`
      : "nothing was lost";
  facts(element("incident-facts"), [
    ["probes lost", `${incident.lost} of ${incident.sent}`, incident.lost ? "bad" : "good"],
    ["longest silence", milliseconds(incident.silence_ms)],
    ["repaired by", repaired, silent ? "bad" : "good"],
    ["controller's plan in place", incident.planned_ms === null ? "–" : `after ${milliseconds(incident.planned_ms)}`],
    ["probed", `${incident.pairs} pairs of hosts, every ${milliseconds(incident.interval_ms)}`],
  ]);
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
  }

  show(fabric) {
    this.fabric = fabric;
    element("pattern").replaceChildren(...fabric.patterns.map((name) => make("option", name)));
    element("pattern").value = "uniform";
    // What the switches of a small machine carry without holding frames, where links are fast.
    const framesAtOne = fabric.hosts.length * fabric.link_rate_bps / FRAME_BITS;
    element("load").value = String(Math.max(0.01, Math.floor(100 * Math.min(0.3, GENTLE_FRAMES / framesAtOne)) / 100));
    element("traffic-form").hidden = !fabric.actions.includes("start-traffic");
    element("measure").disabled = !fabric.actions.includes("measure");
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
      await ask("POST", "api/results", {...this.request(), duration: Number(element("duration").value)});
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
    element("traffic-stop").disabled = !traffic;
    element("traffic-start").disabled = Boolean(traffic);
    if (!traffic) { element("traffic-state").textContent = "none"; return; }
    element("traffic-state").textContent = `${traffic.pattern} offered ${share(traffic.offered)}, accepted `
      + `${share(traffic.accepted)}, loss ${percent(traffic.loss)}, p99 ${milliseconds(traffic.latency_p99_ms)}`
      + (state.detoured === null ? "" : `, ${percent(state.detoured)} of buckets on detours`);
    if (traffic.seconds !== this.last) {
      this.last = traffic.seconds;
      this.throughput.add(state.time_s, [traffic.offered, traffic.accepted, traffic.loss, traffic.out_of_order]);
      this.latency.add(state.time_s, [traffic.latency_p50_ms, traffic.latency_p99_ms]);
    }
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

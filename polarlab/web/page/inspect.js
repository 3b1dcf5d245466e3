// The selected link, switch or host: its state, actions and details.

import {ask} from "./api.js";
import {Chart} from "./charts.js";
import {element, facts, make, share} from "./text.js";

const REFRESH_MS = 1000;

/** Panel of the selected link, switch or host. */
export class Inspector {
  constructor(verbs) {
    this.verbs = verbs;
    this.kind = this.name = "";
    this.chart = null;
    setInterval(() => this.refresh(), REFRESH_MS);
  }

  show(fabric) {
    this.fabric = fabric;
    this.links = new Map(fabric.links.map((link) => [link.name, link]));
    this.select("", "");
  }

  select(kind, name) {
    this.kind = kind;
    this.name = name;
    element("selected-name").textContent = name ? `${kind} ${name}` : "Nothing selected";
    element("selected-text").textContent = name ? "" : "Click a link or a switch, or type its name above.";
    element("selected-details").replaceChildren();
    element("selected-chart").replaceChildren();
    this.chart = null;
    this.buttons = "";
    element("actions").replaceChildren();
    if (this.state) this.update(this.state);
    this.refresh();
  }

  /** Shows a state. */
  update(state) {
    this.state = state;
    if (!this.name) return;
    if (this.kind === "link") this.link(state);
    else if (this.kind === "switch") this.switch(state);
  }

  link(state) {
    const link = this.links.get(this.name);
    if (!link) { this.offer("host link"); return; }
    const dead = link.directions.some((at) => state.down.includes(at));
    const drained = state.drained.includes(`link:${this.name}`);
    const ends = link.ends.map((router) => `s${router + 1}`);
    const lines = link.directions.map((at, end) =>
      `${ends[end]} → ${ends[1 - end]}: load ${share(state.load[at])}, queue ${state.waiting[at]} of `
      + `${this.fabric.queue_packets} packets, ${state.dropped[at]} dropped`);
    element("selected-text").textContent = (dead ? "dead. " : drained ? "drained. " : "") + lines.join("; ");
    this.offer("link", dead && "dead", drained && "drained");
  }

  switch(state) {
    const power = `switch:${this.name}`, hang = `hang:${this.name}`;
    const off = state.failed.includes(power), hangs = state.failed.includes(hang);
    const drained = state.drained.includes(power);
    const words = off ? "no power" : hangs ? "hangs: its program is dead, but its links stay up, so its neighbours do not notice" : drained ? "drained" : "up";
    const router = Number(this.name.slice(1)) - 1;
    const kind = this.fabric.kinds[this.fabric.kind[router]];
    element("selected-text").textContent = kind ? `${words}; ${kind}` : words;
    this.offer("switch", off && "off", hangs && "hangs", drained && "drained");
  }

  /** Shows the buttons for given states, unless they are shown already: replacing a button would swallow a click on it. */
  offer(part, ...states) {
    const wanted = `${part} ${states}`;
    if (wanted === this.buttons) return;
    this.buttons = wanted;
    element("actions").replaceChildren(...this.verbs.offered(part, new Set(states)).map((one) => this.verbs.button(one, this.name)));
  }

  /** Requests the last minute of a link, or the tables of a switch. */
  async refresh() {
    if (!this.name || !this.fabric || document.hidden) return;
    const {kind, name} = this;
    try {
      if (kind === "link" && this.fabric.actions.includes("link")) {
        const minute = await ask("GET", `api/links/${encodeURIComponent(name)}`);
        if (this.name === name) this.minute(minute);
      } else if (kind === "switch" && this.fabric.actions.includes("switch") && !this.tables) {
        this.tables = ask("GET", `api/switches/${encodeURIComponent(name)}`);
        const tables = await this.tables;
        if (this.name === name) this.details(tables);
      }
    } catch (error) {
      if (this.name === name) element("selected-details").textContent = error.message;
    } finally {
      this.tables = null;
    }
  }

  minute(directions) {
    const names = Object.keys(directions);
    if (!this.chart) {
      this.chart = new Chart(element("selected-chart"), "load, last minute", names);
      this.waiting = new Chart(element("selected-chart"), "queued packets", names);
    }
    const column = (key) => names.map((name) => directions[name].map((row) => row[key]));
    const times = directions[names[0]].map((row) => row.time_s);
    this.chart.set([times, ...column("load")]);
    this.waiting.set([times, ...column("waiting")]);
    const dropped = names.map((name) => {
      const rows = directions[name];
      return `${name}: ${rows.length ? rows.at(-1).dropped - rows[0].dropped : 0}`;
    });
    element("selected-details").textContent = `dropped in the last minute: ${dropped.join(", ")}`;
  }

  details(tables) {
    const place = element("selected-details");
    const open = new Set([...place.querySelectorAll("details[open]")].map((one) => one.dataset.name));
    const part = (name, children) => {
      const node = make("details", "", [make("summary", name), ...children]);
      node.dataset.name = name.split(":")[0];
      node.open = open.has(node.dataset.name);
      return node;
    };
    const buckets = tables.adaptive.map((group) => {
      const total = Object.values(group.buckets).reduce((sum, count) => sum + count, 0);
      const rows = Object.entries(group.buckets).flatMap(([link, count]) => {
        const bar = make("span", "", [], {class: "bar", style: `width:${80 * count / total}px`});
        return [make("dt", link === group.minimal ? `${link} (minimal)` : link), make("dd", `${count} `, [bar])];
      });
      return make("div", "", [make("strong", `group ${group.group}`), make("dl", "", rows)]);
    });
    const counters = make("dl");
    facts(counters, [["packets matched by rules", String(tables.packets)],
      ["installed rules, groups", `${tables.rules.length}, ${tables.groups.length}`],
      ...tables.hosts.map((host) => [`to ${host.name}`, `load ${share(host.lately[0]?.[1])}`])]);
    const text = (lines) => [make("pre", lines.join("\n") || "the switch does not answer")];
    place.replaceChildren(counters,
      ...(buckets.length ? [part("adaptive groups: where their buckets point", buckets)] : []),
      part("planned rules", text(tables.planned_rules)), part("planned groups", text(tables.planned_groups)),
      part("installed rules, with counters", text(tables.rules)), part("installed groups", text(tables.groups)));
  }
}

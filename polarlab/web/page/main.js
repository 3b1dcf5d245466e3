// The page: shows the messages of the fabric, and sends the user's requests to it.

import {listen} from "./api.js";
import {drawScale} from "./colours.js";
import {Graph} from "./graph.js";
import {Inspector} from "./inspect.js";
import {addEntries, Paths, Routing, showIncident, Traffic} from "./panels.js";
import {Replay} from "./replay.js";
import {element, make, rate} from "./text.js";
import {Verbs} from "./verbs.js";

let fabric = null;
let state = null;
let connection = "connecting";

const SIGNS = {quiet: "", bad: "✕ ", repaired: "↷ ", good: "✓ "};

/** Shows whether states arrive, or what is replayed. */
function showConnection() {
  const shown = connection === "live" && fabric?.replay ? "replay" : connection;
  element("connection").textContent = shown;
  element("connection").className = `pill ${connection === "live" ? "good" : "bad"}`;
}

/** Runs an action that the fabric may refuse; then shows its one-line error. */
async function attempt(act) {
  element("message").textContent = "";
  try {
    return await act();
  } catch (error) {
    element("message").textContent = error.message;
    return null;
  }
}

function select(kind, name) {
  graph.select(kind, name);
  inspector.select(kind, name);
}

const graph = new Graph(element("graph"), element("links"), select);
const verbs = new Verbs(attempt);
const inspector = new Inspector(verbs);
const traffic = new Traffic(verbs);
const routing = new Routing(verbs);
const replay = new Replay(showState);
new Paths(graph, verbs);

function showFabric(description) {
  fabric = description;
  state = null;
  showConnection();
  if (fabric?.replay) element("entries").replaceChildren(); // its events follow
  if (!fabric) { element("facts").textContent = "no fabric is running"; return; }
  document.title = `${fabric.title}: PolarLab`;
  element("title").textContent = fabric.title;
  const proof = fabric.proof;
  element("facts").textContent = `${fabric.routers} switches, ${fabric.links.length} links of ${rate(fabric.link_rate_bps)}, `
    + `${fabric.hosts.length} hosts; routing ${fabric.routing}; `
    + (proof ? `proven before installation: ${proof.pairs} pairs of hosts, at most ${proof.max_hops} hops, `
      + `${proof.rules} rules, ${proof.groups} groups` : fabric.replay ? `replay of ${fabric.replay}` : "")
    + (fabric.lacks.length ? `; not recorded: ${fabric.lacks.join("; ")}` : "")
    + (fabric.actions.length ? "" : "; read-only: an experiment is using the fabric, "
      + "and its results would not record manual changes");
  const names = [...fabric.positions.map((_, router) => `s${router + 1}`), ...fabric.links.map((link) => link.name),
    ...fabric.hosts];
  element("names").replaceChildren(...names.map((value) => make("option", "", [], {value})));
  element("search-text").placeholder = `s1, ${fabric.links[0].name}, ${fabric.hosts[0] || ""}`;
  graph.show(fabric);
  graph.names(element("labels").checked);
  graph.hosts(element("hosts").checked);
  verbs.show(fabric);
  element("path-without").placeholder = `link:${fabric.links[0].name}`;
  inspector.show(fabric);
  traffic.show(fabric);
  routing.show(fabric);
  replay.show(fabric);
}

function showState(latest) {
  state = latest;
  if (!fabric || !state) return;
  graph.update(state);
  verbs.update(state);
  inspector.update(state);
  traffic.update(state);
  routing.update(state);
  showIncident(state.incident);
  const line = element("headline"), text = `${SIGNS[state.headline_level]}${state.headline}`;
  line.hidden = !state.headline;
  if (line.textContent !== text) line.textContent = text; // else it would be read aloud again
  line.className = state.headline_level;
  const failed = state.failed.length ? `; failed: ${state.failed.join(", ")}` : "";
  element("controller-state").textContent = `${state.controller}, plan for `
    + (state.planned_failure === "none" ? "the whole fabric" : `the fabric without ${state.planned_failure}`);
  const pill = element("validity"), validity = state.validity;
  pill.textContent = validity.valid === null ? validity.reason
    : `${validity.valid ? "valid" : "not valid"}: ${validity.reason}`;
  pill.className = `pill ${validity.valid === null ? "" : validity.valid ? "good" : "bad"}`;
  document.title = `${fabric.title}${failed}: PolarLab`;
}

listen({
  fabric: showFabric,
  state: (latest) => { if (!fabric?.replay) showState(latest); },
  timeline: (entries) => { addEntries(entries); replay.hideLater(); },
  connection: (text) => { connection = text; showConnection(); },
});

element("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = element("search-text").value.trim().toLowerCase().replace(/^(link|switch|host):?\s*/, "");
  const link = fabric?.links.find((one) => one.name === name || one.name === name.split("-").reverse().join("-"));
  if (fabric?.hosts.includes(name) && !element("hosts").checked) element("hosts").click();
  if (link) select("link", link.name);
  else if (name && graph.select("switch", name)) select(name.startsWith("h") ? "host" : "switch", name);
  else element("message").textContent = name ? `the fabric has no ${name}` : "type the name of a link, switch or host";
});
element("search-text").addEventListener("change", () => element("search").requestSubmit());
element("fit").addEventListener("click", () => graph.fit());
element("nearer").addEventListener("click", () => graph.zoom(1.3));
element("farther").addEventListener("click", () => graph.zoom(1 / 1.3));
element("labels").addEventListener("change", (event) => graph.names(event.target.checked));
element("hosts").addEventListener("change", (event) => { graph.hosts(event.target.checked);
  graph.names(element("labels").checked); });
document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, select, textarea") || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "/") { event.preventDefault(); element("search-text").focus(); }
  if (event.key === "0") graph.fit();
  if (event.key === "+") graph.zoom(1.3);
  if (event.key === "-") graph.zoom(1 / 1.3);
});

function applyTheme() {
  drawScale(element("scale"));
  graph.theme();
  traffic.theme();
  if (state) graph.update(state);
}
element("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  applyTheme();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
drawScale(element("scale"));

// Replay of finished results: a slider over the recorded states.

import {ask} from "./api.js";
import {element, make} from "./text.js";

const STEP_MS = 200;

/** Slider over recorded states; `show(state)` draws one. */
export class Replay {
  constructor(show) {
    this.show_ = show;
    this.states = [];
    this.timer = null;
    element("slider").addEventListener("submit", (event) => event.preventDefault());
    element("moment").addEventListener("input", () => this.draw());
    element("point").addEventListener("change", () => ask("POST", "api/point", {point: element("point").value}));
    element("play").addEventListener("click", () => this.toggle());
  }

  async show(fabric) {
    this.states = [];
    element("slider").hidden = !fabric.replay;
    if (!fabric.replay) return;
    element("point").hidden = !fabric.points.length;
    element("point").replaceChildren(...fabric.points.map((name) => make("option", name)));
    element("point").value = fabric.point;
    this.states = await ask("GET", "api/recording");
    element("moment").hidden = element("play").hidden = this.states.length < 2;
    element("moment").max = String(this.states.length - 1);
    element("moment").value = String(fabric.shown_first);
    this.draw();
  }

  draw() {
    const state = this.states[Number(element("moment").value)];
    if (!state) return;
    element("moment-text").textContent = `${state.time_s.toFixed(1)} s`;
    this.show_(state);
    this.hideLater();
  }

  /** Hides the events that come after the time shown. */
  hideLater() {
    const state = this.states[Number(element("moment").value)];
    if (!state) return;
    for (const line of element("entries").children) line.hidden = Number(line.dataset.time) > state.time_s;
  }

  toggle() {
    if (this.timer) {
      clearInterval(this.timer);
      this.timer = null;
    } else {
      this.timer = setInterval(() => {
        const next = Number(element("moment").value) + 1;
        element("moment").value = String(next < this.states.length ? next : 0);
        this.draw();
      }, STEP_MS);
    }
    element("play").textContent = this.timer ? "pause" : "play";
  }
}

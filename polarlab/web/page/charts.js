// Charts over the last minutes: throughput, latency, and a link's load and queue.

import {variable} from "./colours.js";

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];
const DASHES = [[], [6, 4], [2, 3], [8, 3, 2, 3]];
const KEPT = 600;

function options(title, names, unit, width) {
  // Functions, because the theme may change while the chart is shown.
  const axis = {stroke: () => variable("--ink"), grid: {stroke: () => variable("--line"), width: 1}, ticks: {show: false}};
  return {
    title, width, height: 150, cursor: {y: false},
    scales: {x: {time: false}, y: {range: (_chart, _low, high) => [0, Math.max(high || 0, 1e-3) * 1.1]}},
    axes: [{...axis, size: 30, values: (_chart, ticks) => ticks.map((tick) => `${tick} s`)}, {...axis, size: 52}],
    series: [{label: "s"}, ...names.map((label, at) => ({
      label: unit ? `${label}, ${unit}` : label, stroke: COLOURS[at], dash: DASHES[at], width: 2, spanGaps: false,
      value: (_chart, value) => (value === null || value === undefined ? "–" : value.toPrecision(3)),
    }))],
  };
}

/** A chart to which points are added. */
export class Chart {
  constructor(element, title, names, unit = "") {
    Object.assign(this, {element, title, names, unit});
    this.clear();
  }

  clear() { this.data = [[], ...this.names.map(() => [])]; this.chart?.destroy(); this.chart = null; }

  add(time, values) {
    this.data[0].push(time);
    values.forEach((value, at) => this.data[at + 1].push(value));
    if (this.data[0].length > KEPT) this.data.forEach((column) => column.shift());
    this.draw();
  }

  set(columns) { this.data = columns; this.draw(); }

  draw() {
    if (!this.element.isConnected || !this.element.offsetWidth) return;
    if (this.chart) { this.chart.setData(this.data); return; }
    // uPlot is a classic script, not a module.
    this.chart = new window.uPlot(
      options(this.title, this.names, this.unit, this.element.clientWidth - 4), this.data, this.element);
  }

  theme() { this.chart?.destroy(); this.chart = null; if (this.data[0].length) this.draw(); }
}

// Helpers for text and elements of the page.

export const element = (id) => document.getElementById(id);

/** Creates an element with text and children. */
export function make(name, text = "", children = [], attributes = {}) {
  const node = document.createElement(name);
  if (text) node.textContent = text;
  node.append(...children);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

export function rate(bps) {
  for (const [unit, size] of [["Gbit/s", 1e9], ["Mbit/s", 1e6], ["kbit/s", 1e3]]) {
    if (bps >= size) return `${+(bps / size).toPrecision(3)} ${unit}`;
  }
  return `${bps} bit/s`;
}

export const share = (value) => (value === null || value === undefined ? "–" : value.toFixed(3));
export const rounded = (value) => String(+Number(value).toPrecision(4));
export const percent = (value) => (value === null || value === undefined ? "–" : `${(100 * value).toFixed(2)} %`);
export const milliseconds = (value) => (value === null || value === undefined ? "–" : `${+value.toPrecision(4)} ms`);

/** Fills a description list with terms and values. */
export function facts(list, pairs) {
  list.replaceChildren(...pairs.flatMap(([term, value, kind]) => {
    const shown = make("dd", value);
    if (kind) shown.className = kind;
    return [make("dt", term), shown];
  }));
}

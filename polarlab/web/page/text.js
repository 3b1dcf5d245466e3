// Numbers and elements of the page as text.

export const element = (id) => document.getElementById(id);

/** Makes an element with text and children. */
export function make(name, text = "", children = [], attributes = {}) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...children);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
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

/** Fills a list of terms and values. */
export function facts(list, pairs) {
  list.replaceChildren(...pairs.flatMap(([term, value, kind]) => {
    const shown = make("dd", value);
    if (kind) shown.className = kind;
    return [make("dt", term), shown];
  }));
}

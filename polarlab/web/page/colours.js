// Colours of loads. They also differ in lightness, so that colour-blind users can distinguish them.

const LIGHT = [[205, 212, 222], [120, 176, 216], [33, 113, 181], [122, 60, 140], [158, 24, 30]];
const DARK = [[62, 72, 86], [50, 110, 160], [90, 170, 230], [240, 190, 90], [255, 120, 90]];
const STEPS = 32;

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function between(stops, share) {
  const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const first = Math.min(Math.floor(place), stops.length - 2);
  const rest = place - first;
  const parts = stops[first].map((low, at) => Math.round(low + (stops[first + 1][at] - low) * rest));
  return `rgb(${parts.join(",")})`;
}

/** Returns the colours of loads from 0 to 1 in the current theme. */
export function scale() {
  const stops = isDark() ? DARK : LIGHT;
  return Array.from({length: STEPS + 1}, (_, step) => between(stops, step / STEPS));
}

/** Returns the index of a load in `scale()`. */
export function step(load) {
  return Math.round(Math.min(Math.max(load, 0), 1) * STEPS);
}

/** Returns the colour of a style sheet's variable, such as `--ink`. */
export function variable(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Draws the scale on a canvas. */
export function drawScale(canvas) {
  const context = canvas.getContext("2d");
  const colours = scale();
  const width = canvas.width / colours.length;
  colours.forEach((colour, at) => {
    context.fillStyle = colour;
    context.fillRect(Math.floor(at * width), 0, Math.ceil(width) + 1, canvas.height);
  });
}

// Requests to the fabric, and the stream of its states and events.

/** Sends a request and returns the fabric's answer; throws an Error with its one-line reason if it refuses. */
export async function ask(method, path, body) {
  const request = {method, headers: {}};
  if (body !== undefined) {
    request.headers["Content-Type"] = "application/json";
    request.body = JSON.stringify(body);
  }
  const answer = await fetch(path, request).catch(() => {
    throw new Error("the page's process does not answer; the fabric may still be running");
  });
  const text = await answer.text();
  let value = null;
  try { value = JSON.parse(text); } catch { /* not JSON: reported below */ }
  if (!answer.ok) throw new Error(value?.error || `${answer.status} ${answer.statusText}`);
  return value;
}

/** Listens to the fabric; the browser reopens a lost connection. */
export function listen(handlers) {
  const source = new EventSource("api/stream");
  for (const [name, handle] of Object.entries(handlers)) {
    if (name === "connection") continue;
    source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
  }
  source.addEventListener("open", () => handlers.connection("live"));
  source.addEventListener("error", () => handlers.connection(
    source.readyState === EventSource.CLOSED ? "ended" : "connection lost"));
  source.addEventListener("end", () => { source.close(); handlers.connection("the fabric has ended"); });
  return source;
}

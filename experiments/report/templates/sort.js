// Clicking a column's heading sorts by it; the order is kept in the URL, so that it can be shared.
"use strict";
function value(row, column) {
  const text = row.cells[column].textContent;
  const number = Number(text);
  return text !== "" && !Number.isNaN(number) ? number : text;
}
function sort(table, column, descending) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  rows.sort((a, b) => {
    const x = value(a, column), y = value(b, column);
    const order = typeof x === typeof y ? (x < y ? -1 : x > y ? 1 : 0) : typeof x === "number" ? -1 : 1;
    return descending ? -order : order;
  });
  rows.forEach(row => body.appendChild(row));
  Array.from(table.tHead.rows[0].cells).forEach((head, place) => {
    if (place === column) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
}
document.querySelectorAll("table.sortable").forEach(table => {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    head.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending";
      sort(table, column, descending);
      history.replaceState(null, "", "#" + (descending ? "-" : "") + head.textContent);
    });
  });
  const wanted = decodeURIComponent(location.hash.slice(1));
  const column = heads.findIndex(head => head.textContent === wanted.replace(/^-/, ""));
  if (column >= 0) sort(table, column, wanted.startsWith("-"));
});

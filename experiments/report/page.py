"""One page of HTML with all of a sweep, or a run: figures, tables, what each number can be trusted for.

The page is one file: figures and script are in it, and it asks nothing of any server.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.figures.run import plot_run
from experiments.figures.sweep import is_sweep, plot_sweep
from experiments.results.new_files import check_new, write_new
from experiments.results.run_directory import MANIFEST, SUMMARY, damage_told, read_json
from experiments.results.tables import SETTINGS, all_points, held_settings
from experiments.results.text import parameters, readable
from topology.errors import ParameterError

REPORT = "report.html"
_SHOWN = (
    *("routing", "pattern", "load", "offered", "accepted", "accepted_ci95", "predicted_accepted", "loss"),
    *("latency_mean_ms", "latency_p99_ms", "out_of_order", "valid"),
)
_STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #1b1b1b; max-width: 1180px; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
img { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #ddd; text-align: right; vertical-align: top; }
th:first-child, td:first-child, td.text, th.text { text-align: left; }
table.sortable th { cursor: pointer; user-select: none; position: sticky; top: 0; background: #fff; }
th[aria-sort=ascending]::after { content: " \\25B2"; } th[aria-sort=descending]::after { content: " \\25BC"; }
tr.invalid td { color: #8a4b00; }
details { margin: .3rem 0; } summary { cursor: pointer; }
.scroll { overflow-x: auto; }
"""
# A click on a column's head sorts by it; the address keeps the order, so that it can be passed on.
_SCRIPT = """
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
"""


def write_report(folder: Path, path: Path | None = None) -> Path:
    """Writes the report of a sweep or a run, into its folder unless a path is given, and returns the file.

    Its figures are drawn anew.

    Raises:
        UsageError: the folder holds neither, or something damaged; the file exists.
        OSError: it cannot be written.
    """
    if path is not None:
        check_new(path)
    if not folder.is_dir():
        raise ParameterError(f"{folder} is no folder of results")
    with damage_told(folder):
        title, parts = _sweep(folder) if is_sweep(folder) else _run(folder)
        page = _page(title, parts)
    if path is None:
        path = folder / REPORT
        path.write_text(page, errors="replace")
    else:
        write_new(path, page.encode(errors="replace"))
    return path


def _sweep(folder: Path) -> tuple[str, list[str]]:
    figures = [path for path in plot_sweep(folder) if path.suffix == ".svg"]
    manifest = read_json(folder / MANIFEST)
    settings = held_settings(folder) or {}
    points = all_points(folder)
    valid = sum(row["valid"] == "yes" for row in points.values())
    parts = [
        f"<p>{len(points)} points, {valid} of them valid, the others in brown: their details tell why. "
        "Fractions are of all hosts' injection capacity.</p>",
        *map(_image, figures),
        "<h2>Points</h2>",
        _table(list(points.values()), _SHOWN),
        "<h2>Each point</h2>",
        *(_point(folder, point.name) for point in points),
        *_origin(manifest, settings),
    ]
    return f"{_fabric(manifest)}: a sweep", parts


def _run(folder: Path) -> tuple[str, list[str]]:
    summary = read_json(folder / SUMMARY)
    if "fidelity" not in summary:
        raise ParameterError(f"{folder} holds no run and no sweep")
    figures = [path for path in plot_run(folder) if path.suffix == ".svg"]
    manifest = read_json(folder / MANIFEST)
    parts = [
        *map(_image, figures),
        "<h2>Result</h2>",
        _pairs(summary),
        *_origin(manifest, manifest.get("traffic", {})),
    ]
    return f"{_fabric(manifest)}: {summary['pattern']} under {summary['routing']}", parts


def _fabric(manifest: Mapping[str, Any]) -> str:
    params = parameters(manifest["params"])
    return f"{manifest['name']} ({params}), {manifest['hosts']} hosts a router"


def _origin(manifest: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    others = {name: value for name, value in manifest.items() if name not in ("traffic", SETTINGS)}
    return ["<h2>Settings</h2>", _pairs(settings), "<h2>Where it was measured</h2>", _pairs(others)]


def _point(folder: Path, name: str) -> str:
    path = folder / "points" / f"{name}.json"
    if not path.exists():
        return ""
    return f"<details><summary>{html.escape(name)}</summary>{_pairs(read_json(path))}</details>"


def _image(path: Path) -> str:
    content = base64.b64encode(path.read_bytes()).decode()
    name = html.escape(f"{path.parent.name} {path.stem}")
    return f'<p><img alt="{name}" src="data:image/svg+xml;base64,{content}"></p>'


def _pairs(values: Mapping[str, Any]) -> str:
    rows = (
        f"<tr><td>{html.escape(name)}</td><td class=text>{html.escape(readable(value))}</td></tr>"
        for name, value in values.items()
    )
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


def _table(rows: Sequence[Mapping[str, str]], columns: Sequence[str]) -> str:
    columns = [name for name in columns if any(row[name] for row in rows)]
    texts = ("routing", "pattern")
    heads = "".join(f"<th{_class(name, texts)}>{html.escape(name)}</th>" for name in columns)
    body = []
    for row in rows:
        invalid = "" if row["valid"] == "yes" else " class=invalid"
        cells = "".join(f"<td{_class(name, texts)}>{html.escape(_short(row[name]))}</td>" for name in columns)
        body.append(f"<tr{invalid}>{cells}</tr>")
    return (
        f"<div class=scroll><table class=sortable><thead><tr>{heads}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _short(text: str) -> str:
    """Returns a number with four digits, another text as it is."""
    try:
        return text if text.isdecimal() else f"{float(text):.4g}"
    except ValueError:
        return text


def _class(name: str, texts: Sequence[str]) -> str:
    return " class=text" if name in texts else ""


def _page(title: str, parts: Iterable[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>{html.escape(title)}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{html.escape(title)}</h1>\n{body}\n"
        f"<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )

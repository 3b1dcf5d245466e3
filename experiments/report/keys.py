"""Page of all keys and columns of results, docs/reference/keys.md, generated from records and tables.

`make keys`, or `python -m experiments.report.keys > docs/reference/keys.md`, regenerates it.
"""

from __future__ import annotations

import inspect
import re
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from experiments.codec import is_omitted, meaning_of
from experiments.results import collective, tables
from experiments.results.failover import (
    FAILOVERS,
    Distribution,
    FailoverSeries,
    FailoverSummary,
    Phase,
    Repetition,
)
from experiments.results.flows.statistics import FLOW_COLUMNS, FLOWS
from experiments.results.link_loads import LINK_LOADS, LinkLoadRow
from experiments.results.manifest import RunManifest, SweepManifest
from experiments.results.model import Summary
from experiments.results.parts.crosscheck import CROSSCHECK, Crosscheck
from experiments.results.parts.faults import FaultRecord
from experiments.results.parts.host_links import HOST_LINKS, HostLinkRow
from experiments.results.parts.replications import Interval
from experiments.results.simulation.model import SimulationManifest, SimulationSummary
from experiments.results.simulation.sweep import SimulatedSweepManifest
from experiments.results.sweep_points import POINTS, PointRow, SimulatedPointRow

_INTRODUCTION = """\
# Keys of results

Look up any key of the JSON files or column of the CSV files that PolarLab writes. `make keys` generates this
page from the typed records of `experiments/results/`; a test fails if it is out of date.
`polarlab.open_results(FOLDER)` reads the files as these records. [The glossary](glossary.md) defines the
terms and [explains](glossary.md#reading-a-result-loss-offered-and-accepted) why `accepted` / `offered` is not
1 - `loss`.

A name ends with its unit: `_s`, `_ms`, `_bps` (bit/s), `_bytes`, `_packets`. Other numbers are counts, or
fractions from 0 to 1. `a.b` is the key `b` of the object `a`, `a[].b` the key `b` of each object in the list
`a`, and `a.*.b` the key `b` of each object that `a` has by name. The measurement window follows the warm-up.
A frame time is the transmission time of a frame on a link; in simulations, of a packet."""

# Records that occur in several places, described once in their own table.
_SHARED = (FaultRecord, Interval, Phase, Distribution)


class _Record(NamedTuple):
    """A kind of JSON record on the page: its heading, its dataclass, and the files that contain it."""

    heading: str
    kind: type
    files: str


_RECORDS = (
    _Record("Summary of a run", Summary, "`summary.json`, `points/*.json` of a sweep, `polarlab run --json`"),
    _Record("Summary of a failover", FailoverSummary, "`summary.json`, `polarlab demo failover --json`"),
    _Record(
        "Summary of a series of failovers",
        FailoverSeries,
        "`summary.json`, `polarlab demo failover --repeat N --json`",
    ),
    _Record(
        "Summary of a simulation",
        SimulationSummary,
        "`summary.json`, `points/*/summary.json` of a sweep of simulations, `polarlab simulate --json`",
    ),
    _Record("Manifest of a run or a failover", RunManifest, "`manifest.json`"),
    _Record("Manifest of a sweep", SweepManifest, "`manifest.json`"),
    _Record("Manifest of a simulation", SimulationManifest, "`manifest.json`"),
    _Record("Manifest of a sweep of simulations", SimulatedSweepManifest, "`manifest.json`"),
    _Record(
        "Point of a sweep of simulations",
        SimulatedPointRow,
        "`points.csv` of such a sweep (empty cells do not apply), `polarlab sweep --json`",
    ),
    _Record("Cross-check", Crosscheck, f"`{CROSSCHECK}`, `polarlab crosscheck --json`"),
    _Record("Faults", FaultRecord, "`faults` in summaries"),
    _Record("Interval", Interval, "`repeat` in summaries"),
    _Record("Distribution", Distribution, "the summary of a series of failovers"),
    _Record("Phase of a failover", Phase, "`phases` in the summary of a failover"),
)


def table_columns() -> dict[str, tuple[str, Mapping[str, str]]]:
    """Returns file name -> (meaning of a row, column -> meaning)."""
    return {
        tables.THROUGHPUT: ("host and time interval", tables.THROUGHPUT_COLUMNS),
        tables.PAIRS: (
            "ordered pair of hosts with traffic in the window",
            tables.PAIR_COLUMNS,
        ),
        tables.HOPS: ("number of hops", tables.HOP_COLUMNS),
        tables.LATENCY: ("bin of latencies", tables.LATENCY_COLUMNS),
        tables.LINKS: ("directed link between routers and time interval", tables.LINK_COLUMNS),
        LINK_LOADS: (
            "directed link between routers; `points/` of a sweep has one such table per point",
            descriptions(LinkLoadRow),
        ),
        HOST_LINKS: ("link between a switch and a host in one direction", descriptions(HostLinkRow)),
        tables.CPU: ("second", tables.CPU_COLUMNS),
        tables.HELD: ("second and switch, with Open vSwitch's userspace datapath", tables.HELD_COLUMNS),
        POINTS: (
            "point of a sweep, with values of its summary; `true` or `false`, empty cells do not apply",
            descriptions(PointRow),
        ),
        collective.COLLECTIVE_SERIES: ("iteration of a collective", collective.ITERATION_COLUMNS),
        collective.RANKS: ("rank and iteration of a collective", collective.RANK_COLUMNS),
        FLOWS: ("TCP flow that started, including warm-up", FLOW_COLUMNS),
        tables.LATENCY_CYCLES: ("bin of simulated latencies", tables.LATENCY_CYCLE_COLUMNS),
        tables.PERIODS: ("period of the window of a simulation", tables.PERIOD_COLUMNS),
        tables.HOSTS: ("host of a simulation", tables.HOST_COLUMNS),
        tables.ITERATIONS: ("iteration of a simulated application", tables.ITERATION_COLUMNS),
        tables.RANK_CYCLES: ("rank and iteration of a simulated application", tables.RANK_COLUMNS),
        tables.MESSAGES: ("message of a simulated trace", tables.MESSAGE_COLUMNS),
        tables.PROBES: ("stream of probes of a failover and time interval", tables.PROBE_COLUMNS),
        tables.EVENTS: ("event of a failover", tables.EVENT_COLUMNS),
        FAILOVERS: ("failover of a series; empty cells do not apply", descriptions(Repetition)),
    }


def descriptions(kind: type) -> dict[str, str]:
    """Returns, for a dataclass, field -> description, from fields or docstrings of the class and its bases.

    Args:
        kind: a dataclass whose docstring has a section `Attributes`.
    """
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        found |= _attributes(inspect.cleandoc(base.__doc__ or "")) if is_dataclass(base) else {}
    found |= {field.name: meaning_of(field) for field in fields(kind) if meaning_of(field)}
    return {field.name: found[field.name] for field in fields(kind) if field.name in found}


def _attributes(docstring: str) -> dict[str, str]:
    """Returns attribute -> description, from the section `Attributes` of a docstring.

    An entry `a, b: text` describes several attributes.
    """
    section = docstring.partition("Attributes:\n")[2].partition("\n\n")[0]
    found = {}
    for entry in re.split(r"\n(?=    \w)", section.rstrip()):
        names, _, text = entry.strip().partition(": ")
        for name in names.split(", "):
            found[name] = " ".join(text.split())
    return found


def undescribed() -> list[str]:
    """Returns the keys of all records that lack a description."""
    return [
        f"{record.heading}: {name}" for record in _RECORDS for name, _, text in _rows(record.kind) if not text
    ]


def keys_page() -> str:
    """Returns the page as Markdown."""
    parts = [_INTRODUCTION]
    for record in _RECORDS:
        parts.append(f"## {record.heading}\n\nIn {record.files}.")
        rows = [(f"`{name}`", kind, _cell(text)) for name, kind, text in _rows(record.kind)]
        parts.append(_table(("key", "type", "meaning"), rows))
    parts.append("## Tables\n\nTimes are in seconds since the start of traffic.")
    for file, (row, columns) in table_columns().items():
        cells = [(f"`{name}`", _cell(text)) for name, text in columns.items()]
        parts += [f"### {file}\n\nOne row per {row}.", _table(("column", "meaning"), cells)]
    return "\n\n".join(parts) + "\n"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("None", "null").removesuffix(".")


def _rows(kind: type, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """Yields (name, type, description) of each key of a record class.

    The keys of a nested record follow the key that contains it, with that key as a prefix.
    """
    hints, texts = get_type_hints(kind), descriptions(kind)
    for field in fields(kind):
        name, hint = prefix + field.name, hints[field.name]
        kind_text = _type_text(hint)
        if is_omitted(field):
            kind_text = f"{kind_text.removesuffix(' or null')}, or absent"
        yield name, kind_text, texts.get(field.name, "")
        inner, suffix = _record_in(hint)
        if inner is not None and inner not in _SHARED:
            yield from _rows(inner, f"{name}{suffix}.")


def _record_in(hint: Any) -> tuple[type | None, str]:
    """Returns the class of the records in a key's type (None if there are none), and the key's suffix.

    The suffix is `[]` for a list of records, `.*` for records by name, and empty for a single record.
    """
    if is_dataclass(hint) and isinstance(hint, type):
        return hint, ""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        chosen = [found for found in map(_record_in, parts) if found[0] is not None]
        return chosen[0] if chosen else (None, "")
    if origin is tuple:
        return _record_in(parts[0])[0], "[]"
    if origin is not None and issubclass(origin, Mapping):
        return _record_in(parts[1])[0], ".*"
    return None, ""


_SIMPLE = {int: "integer", float: "number", str: "text", bool: "true or false", type(None): "null"}


def _type_text(hint: Any) -> str:
    """Returns a Python type in words for JSON, such as `list of numbers`.

    Records that several keys share have their own section on the page, to which the words link.
    """
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if is_dataclass(hint) and isinstance(hint, type):
        headings = {record.kind: record.heading for record in _RECORDS}
        if hint not in _SHARED:
            return "object"
        anchor = headings[hint].lower().replace(" ", "-")
        return f"object: [{headings[hint].lower()}](#{anchor})"
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(map(_type_text, parts)))
    if origin is tuple:
        return f"list of {_type_text(parts[0])}s"
    return f"object of {_type_text(parts[1])}s" if parts[1] in (int, float, str) else "object"


if __name__ == "__main__":
    sys.stdout.write(keys_page())

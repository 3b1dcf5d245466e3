"""Reference of names: families, routings, patterns and collectives, as the registries have them."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from markdown_text import code, plain, table

from polarlab.cli import main as entry
from polarlab.cli.parser import commands

_INTRODUCTION = """\
# Names

This page lists the names of topologies, routings and patterns on the command line, in files and in Python,
generated from the registries; [extending](extending.md) adds to them."""


def names_page() -> str:
    """Returns the page as Markdown."""
    families = printed("topology", "--list", "--json")["families"]
    parts = [
        _INTRODUCTION,
        "## Topologies\n\n`polarlab topology --list`; the [guide](topologies.md) has sizes and drawings.",
        _table(families),
    ]
    if "routings" in commands():
        parts += [
            "## Routings\n\n`polarlab routings`; the [guide](routings.md) compares them.",
            _table(printed("routings", "--json")["routings"]),
        ]
    parts += [
        "## Patterns and collectives\n\n`polarlab patterns`; see the guides on [patterns](patterns.md) and "
        "[collectives](collectives.md).",
        _table(printed("patterns", "--json")["patterns"]),
    ]
    return "\n\n".join(parts) + "\n"


def printed(*words: str) -> Mapping[str, Any]:
    """Returns the JSON object that a command prints."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        status = entry.main(words)
    assert status == 0, words
    found: Mapping[str, Any] = json.loads(output.getvalue())
    return found


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns a table of rows that have the same keys, then one of the parameters that any rows list."""
    heads = [head for head in rows[0] if not isinstance(rows[0][head], list)]
    text = table(heads, ([_cell(head, row[head]) for head in heads] for row in rows))
    parameters = [
        (code(str(row[heads[0]]).partition("[")[0].partition(":")[0]), *_parameter(parameter))
        for row in rows
        if isinstance(row.get("parameters"), list)
        for parameter in row["parameters"]
    ]
    if not parameters:
        return text
    head = (heads[0], "parameter", "domain", "default", "meaning")
    note = f"### Parameters of {heads[0]}s\n\nThey follow the name, in the form `NAME:PARAMETER=VALUE,...`."
    return f"{text}\n\n{note}\n\n{table(head, dict.fromkeys(parameters))}"


def _cell(head: str, value: object) -> str:
    """Returns a cell; names, parameters and examples are code."""
    is_code = head in ("name", "pattern", "routing", "parameters", "example")
    return code(str(value)) if is_code else plain(str(value))


def _parameter(parameter: Mapping[str, Any]) -> tuple[str, ...]:
    default = parameter["default"]
    shown = f"{default:g}" if isinstance(default, float) else str(default)
    return code(parameter["name"]), plain(parameter["domain"]), plain(shown), plain(parameter["help"])

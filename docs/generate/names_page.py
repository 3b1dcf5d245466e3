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

Topologies, routings and patterns by the names that the command line, files and Python know. These tables are
made of the registries; [extending](extending.md) adds to them."""


def names_page() -> str:
    """Returns the page as Markdown."""
    families = printed("topology", "--list")["families"]
    parts = [
        _INTRODUCTION,
        "## Topologies\n\n`polarlab topology --list`; the [guide](topologies.md) has sizes and drawings.",
        _table(families),
    ]
    if "routings" in commands():
        parts += [
            "## Routings\n\n`polarlab routings`; the [guide](routings.md) compares them.",
            *_tables("routing", printed("routings")["routings"]),
        ]
    parts += [
        "## Patterns and collectives\n\n`polarlab patterns`; see the guides on [patterns](patterns.md) and "
        "[collectives](collectives.md).",
        *_tables("pattern", printed("patterns")["patterns"]),
    ]
    return "\n\n".join(parts) + "\n"


def printed(*words: str) -> Mapping[str, Any]:
    """Returns the object that a command prints with --json."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        status = entry.main([*words, "--json"])
    assert status == 0, words
    found: Mapping[str, Any] = json.loads(output.getvalue())
    return found


def _tables(owner: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns a table of rows with their parameters left out, and one of the parameters."""
    parameters = [
        {owner: str(row[owner]).partition("[")[0].partition(":")[0], **parameter}
        for row in rows
        for parameter in row["parameters"]
    ]
    return [
        _table([{key: value for key, value in row.items() if key != "parameters"} for row in rows]),
        "Their parameters follow the name, as `NAME:PARAMETER=VALUE,...`:",
        _table(parameters),
    ]


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns a table of rows with common keys; names, parameters and examples are code."""
    as_code = ("name", "pattern", "default", "routing", "parameters", "example")
    cells = [
        [code(str(value)) if key in as_code else plain(str(value)) for key, value in row.items()]
        for row in rows
    ]
    return table(list(rows[0]), cells)

"""How commands print their results: readable, or as one JSON object."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.results.text import readable


def add_json(parser: argparse.ArgumentParser) -> None:
    """Adds --json."""
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def print_result(arguments: argparse.Namespace, result: dict[str, Any]) -> None:
    """Prints a result as the command line asks for it."""
    if arguments.json:
        print(json.dumps(result))
        return
    width = max(map(len, result))
    for name, value in result.items():
        print(f"{name:<{width}}  {readable(value)}")


def print_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Prints the chosen columns of some rows."""
    table = [columns, *([str(row[name]) for name in columns] for row in rows)]
    widths = [max(len(line[index]) for line in table) for index in range(len(columns))]
    for line in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def print_rows(
    arguments: argparse.Namespace, name: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]
) -> None:
    """Prints rows as a table, or with --json as one object that has them under a name."""
    if arguments.json:
        print_result(arguments, {name: rows})
    else:
        print_table(rows, columns)

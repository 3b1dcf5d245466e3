"""Results on standard output: readable, or as one JSON object."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any


def print_result(arguments: argparse.Namespace, result: dict[str, Any]) -> None:
    """Prints a result, under --json as one JSON object."""
    if arguments.json:
        print(json.dumps(result))
        return
    from experiments.results.text import readable

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
    """Prints rows as a table, under --json as one JSON object that has them under a name."""
    if arguments.json:
        print_result(arguments, {name: rows})
    else:
        print_table(rows, columns)

"""Results on standard output: readable within the terminal's width, or as one JSON object."""

from __future__ import annotations

import argparse
import contextlib
import errno
import itertools
import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from polarlab.process import escape_controls

# Without a terminal nothing is wrapped: programs read the output line by line.
_UNLIMITED = 10_000
_NARROWEST = 20  # least width of a value's line, even on a narrower terminal
_GAP = 3  # characters between two columns of a table
_HEADING_WIDTH = 11  # characters of a column's heading, if it is split into lines


@contextlib.contextmanager
def reader_may_end() -> Iterator[None]:
    """Drops the output of a block if its reader (`polarlab ... | head`) or the terminal is gone."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.EIO):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_result(arguments: argparse.Namespace, result: Mapping[str, Any]) -> None:
    """Prints a result, one line per value; with --json, one JSON object."""
    if arguments.json:
        print(json.dumps(result))
        return
    indent = max(map(len, result), default=0) + 2
    width = max(_NARROWEST, _width() - indent)
    for name, value in result.items():
        first, *more = _value_lines(value, width)
        lines = [f"{name:<{indent}}{first}", *(" " * indent + line for line in more)]
        print("\n".join(escape_controls(line).rstrip() for line in lines))


def print_text(text: str) -> None:
    """Prints a paragraph, in lines as wide as the terminal."""
    lines = textwrap.wrap(text, _width(), break_long_words=False, break_on_hyphens=False)
    print("\n".join(map(escape_controls, lines)))


def print_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], by: str = "") -> None:
    """Prints columns of rows as a table; on a narrow terminal, long cells wrap between words.

    If the columns do not fit even then, they are divided among several tables with the same first column; or,
    if several columns have texts, each row is printed as lines of its own.

    Args:
        rows: the rows, as column -> value; they may have more entries than columns.
        columns: names of the columns to print.
        by: name of an entry; rows with the same value of it are indented below that value; may be empty.
    """
    rows = [
        {escape_controls(name): escape_controls(str(value)) for name, value in row.items()} for row in rows
    ]
    columns = [escape_controls(name) for name in columns]
    if by:
        rows = list(_below_headings(rows, columns, by))
    texts = [name for name in columns[1:] if any(" " in str(row[name]) for row in rows)]
    if len(_parts(rows, columns)) > 1:
        if len(texts) > 1:
            _print_records(rows, columns)
            return
        columns = [*(name for name in columns if name not in texts), *texts]
    for number, part in enumerate(_parts(rows, columns)):
        if number:
            print()
        _print_part(rows, part)


def _below_headings(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], by: str
) -> Iterator[Mapping[str, Any]]:
    """Yields rows grouped by their entry `by`: for each value a heading row, then its rows, indented."""
    for heading, members in itertools.groupby(rows, key=lambda row: row[by]):
        yield {**dict.fromkeys(columns, ""), columns[0]: heading}
        yield from ({**row, columns[0]: f"  {row[columns[0]]}"} for row in members)


def _parts(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[list[str]]:
    """Divides columns among tables that fit the terminal, and returns the columns of each table.

    Each table has the first column and at least one other.
    """
    width, (first, *others) = _width(), columns
    begin = _name_width(rows, first)
    parts, used = [[first]], begin
    for name in others:
        needed = _GAP + _min_width(rows, name)
        if used + needed > width and len(parts[-1]) > 1:
            parts.append([first])
            used = begin
        parts[-1].append(name)
        used += needed
    return parts


def _narrowed(widths: Sequence[int], least: Sequence[int], width: int) -> list[int]:
    """Returns the widths of a table's columns on a terminal.

    Each column gets its least width, and a share of the remaining width in proportion to its need.

    Args:
        widths: widths of the columns without wrapping.
        least: their least widths.
        width: width of the terminal.
    """
    missing = [most - one for most, one in zip(widths, least, strict=True)]
    left = max(0, width - sum(least) - _GAP * (len(widths) - 1))
    return [
        one + min(gap, left * gap // max(1, sum(missing))) for one, gap in zip(least, missing, strict=True)
    ]


def _name_width(rows: Sequence[Mapping[str, Any]], name: str) -> int:
    """Returns the width of a column whose cells do not wrap."""
    return max([_min_width(rows, name), *(len(str(row[name])) for row in rows)])


def _min_width(rows: Sequence[Mapping[str, Any]], name: str) -> int:
    """Returns the least width at which a column splits no word of a cell and no short part of its name."""
    cells = [str(row[name]) for row in rows]
    longest = max(map(len, cells), default=0)
    words = [len(word) for cell in cells for word in cell.split()]
    heading = max(map(len, _in_lines(name, longest).split("\n")))
    return max([min(heading, _HEADING_WIDTH), *words])


def _print_records(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Prints each row as its first cell and, below it, every other cell on one or more lines of its own."""
    first, *others = columns
    indent = max(map(len, others)) + _GAP
    for row in rows:
        name = str(row[first])
        margin = " " * (len(name) - len(name.lstrip()) + 2)
        print(name)
        for other in others:
            lines = textwrap.wrap(
                str(row[other]),
                max(_NARROWEST, _width() - len(margin) - indent),
                break_long_words=False,
                break_on_hyphens=False,
            )
            for number, line in enumerate(lines):
                print(f"{margin}{'' if number else other:<{indent}}{line}")


def _print_part(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    width = _width()
    widths = [max([len(name), *(len(str(row[name])) for row in rows)]) for name in columns]
    fits = sum(widths) + _GAP * (len(widths) - 1) <= width
    if not fits:
        least = [_name_width(rows, columns[0]), *(_min_width(rows, name) for name in columns[1:])]
        widths = _narrowed(widths, least, width)
    style = None if width == _UNLIMITED else box.SIMPLE_HEAD
    # Wrapped text needs space around it; numbers with wrapped headings need less.
    spacious = fits or any(" " in str(row[name]) for row in rows for name in columns)
    table = Table(box=style, padding=(0, 1 if spacious else 0), pad_edge=False, show_edge=False)
    for index, name in enumerate(columns):
        cells = [str(row[name]) for row in rows]
        heading = name if fits else _in_lines(name, max(map(len, cells), default=0))
        # The first column has names, which users copy: they are not wrapped.
        whole = index == 0 or all(cell == "-" or _is_number(cell) for cell in cells)
        justify: Literal["left", "right"] = "right" if all(map(_is_number, cells)) else "left"
        table.add_column(
            Text(heading),
            justify=justify,
            overflow="fold",
            no_wrap=whole,
            width=widths[index],
        )
    for row in rows:
        table.add_row(*(Text(str(row[name])) for name in columns))
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        console.print(table)
    # rich pads the lines to the width of the table.
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def print_rows(
    arguments: argparse.Namespace,
    name: str,
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    by: str = "",
) -> None:
    """Prints rows as a table (`print_table`); with --json, one JSON object with the rows under `name`."""
    if arguments.json:
        print_result(arguments, {name: rows})
    else:
        print_table(rows, columns, by)


def _width() -> int:
    """Returns COLUMNS if set, else the terminal's width in characters; without a terminal, a huge width."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return shutil.get_terminal_size().columns
    return _UNLIMITED


def _value_lines(value: Any, width: int) -> list[str]:
    """Returns a value as one line if the line fits, else as one line per entry of the value."""
    from polarlab.api.command_line.records import readable

    text = readable(value)
    if len(text) <= width:
        return [text]
    if isinstance(value, Mapping):
        entries = [(f"{name}:", entry) for name, entry in value.items()]
    elif isinstance(value, list) and any(isinstance(entry, Mapping) or " " in str(entry) for entry in value):
        entries = [("-", entry) for entry in value]
    else:
        return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    lines = []
    for heading, entry in entries:
        line = f"{heading} {readable(entry)}"
        if len(line) <= width:
            lines.append(line)
        else:
            lines.append(heading)
            lines += [f"  {part}" for part in _value_lines(entry, max(_NARROWEST, width - 2))]
    return lines


def _in_lines(name: str, width: int) -> str:
    """Inserts line breaks into a column's name at underscores, so that it is about as wide as the cells."""
    lines = [""]
    for part in re.findall("[^_]*_|[^_]+", name):
        if lines[-1] and len(lines[-1]) + len(part) > max(width, _HEADING_WIDTH):
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

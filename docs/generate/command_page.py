"""Reference of the command line, made of the parser of every command."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping

from markdown_text import code, plain, table

from polarlab.cli.parser import CommandParser, commands, make_parser

_INTRODUCTION = """\
# Command line

This page lists all commands and options, as `polarlab COMMAND --help-all` prints them. Parameters of
topologies are those of all families; `polarlab COMMAND FAMILY --help` prints those of one family, and
[names](names.md) lists families, patterns and routings. Commands marked (root) need root, and all have the
same [exit statuses](exit-statuses.md)."""


def command_line_page() -> str:
    """Returns the page as Markdown."""
    parsers = command_parsers()
    rows = [
        (f"[`{name}`](#polarlab-{name})", plain(command.SUMMARY))
        for name, command in commands().items()
        if name in parsers
    ]
    parts = [_INTRODUCTION, table(("command", "result"), rows)]
    for name, parser in parsers.items():
        parts += [f"## polarlab {name}", *_command(parser)]
    return "\n\n".join(parts) + "\n"


def command_parsers() -> Mapping[str, argparse.ArgumentParser]:
    """Returns the parsers of all commands, with their options, by the commands' names."""
    [choices] = [
        action.choices for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction)
    ]
    parsers: dict[str, argparse.ArgumentParser] = dict(choices)
    for parser in parsers.values():
        if isinstance(parser, CommandParser):
            parser.complete_options()
            parser.describe_options()
    return parsers


def _command(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yields the parts of a command's section."""
    positionals = [action for action in parser._actions if not action.option_strings and _shown(action)]
    words = [parser._get_formatter()._format_args(action, _metavar(action)) for action in positionals]
    yield f"```text\n{' '.join([parser.prog, *words, '[OPTIONS]'])}\n```"
    if parser.description:
        yield plain(parser.description[:1].upper() + parser.description[1:].removesuffix(".") + ".")
    for group in parser._action_groups:
        rows = [_row(parser, action) for action in group._group_actions if _shown(action)]
        if not rows:
            continue
        if group.title not in ("positional arguments", "options"):
            yield from _heading(group.title or "")
        if group.description:
            yield _linked(group.description)
        yield table(("argument" if group.title == "positional arguments" else "option", "meaning"), rows)
    if parser.epilog:
        head, _, examples = parser.epilog.partition("\n")
        lines = "\n".join(line.strip() for line in examples.splitlines())
        yield f"{plain(head.capitalize())}\n\n```text\n{lines}\n```"


def _heading(title: str) -> Iterator[str]:
    """Yields a group's heading, then the bracketed part of its title, with page names turned into links."""
    name, _, note = title.partition(" (")
    yield f"### {plain(name[:1].upper() + name[1:])}"
    if note:
        yield _linked(note.removesuffix(")"))


def _linked(text: str) -> str:
    """Returns a text as Markdown, with page names turned into links."""
    return re.sub(r"docs/[\w-]+/([\w-]+)\.md", r"[\1](\1.md)", plain(text))


def _shown(action: argparse.Action) -> bool:
    return action.help != argparse.SUPPRESS and not isinstance(action, argparse._HelpAction)


def _row(parser: argparse.ArgumentParser, action: argparse.Action) -> tuple[str, str]:
    formatter = parser._get_formatter()
    values = formatter._format_args(action, _metavar(action))
    name = f"{', '.join(action.option_strings)} {values}" if action.option_strings else values
    return code(name.strip()), plain(formatter._expand_help(action)) if action.help else ""


def _metavar(action: argparse.Action) -> str:
    """Returns the name of an action's values, as argparse would."""
    if action.metavar is None and action.choices is not None and not action.option_strings:
        return ", ".join(map(str, action.choices))
    return action.dest.upper()

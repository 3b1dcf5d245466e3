"""The parser of `polarlab` and its commands, each loaded when its options are needed."""

from __future__ import annotations

import argparse
import importlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, Protocol

import polarlab
from topology.errors import UsageError
from topology.exit_status import Status

_NAMES = (
    *("topology", "verify", "predict", "routings", "patterns", "explain", "rules", "up", "run", "sweep"),
    *("demo", "plot", "report", "compare", "doctor", "clean"),
)


class Command(Protocol):
    """A command's module."""

    SUMMARY: str
    EXAMPLES: Sequence[str]
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], Status]


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line with the status for wrong use."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see `{self.prog} --help`)")


class CommandParser(_Parser):
    """A command's parser, which has no options until it is used or asked for them.

    Attributes:
        add_options: adds the command's options.
        words: the words to be parsed, on which the options may depend; none where all are asked for.
    """

    add_options: Callable[[argparse.ArgumentParser], None] | None = None
    words: Sequence[str] = ()

    def complete_options(self) -> None:
        """Adds the command's options, once."""
        if self.add_options is not None:
            add_options, self.add_options = self.add_options, None
            add_options(self)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parses with all options; argparse calls this for the chosen command only."""
        self.words = args or ()
        self.complete_options()
        return super().parse_known_args(args, namespace)


class _Version(argparse.Action):
    """Prints the version, which takes a while to look up, and ends the program."""

    def __call__(self, parser: argparse.ArgumentParser, *_arguments: object) -> None:
        print(f"polarlab {polarlab.__version__}")
        parser.exit()


def run(arguments: Sequence[str]) -> Status:
    """Parses a command line, runs its command, and returns the exit status."""
    parser = make_parser()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks for completions
        from polarlab.cli.completion import complete

        complete(parser)
    parsed, unknown = parser.parse_known_args(arguments)
    if unknown:  # the word after an unknown option may be its value, or meant for something else
        options = [word for word in unknown if word.startswith("-")]
        parsed.parser.error(f"unrecognized arguments: {' '.join(options or unknown)}")
    command: Callable[[argparse.Namespace], Status] = parsed.command
    return command(parsed)


def commands() -> Mapping[str, Command]:
    """Returns the modules of all commands by their names."""
    return {name: importlib.import_module(f"polarlab.cli.commands.{name}") for name in _NAMES}


def make_parser() -> argparse.ArgumentParser:
    """Returns the parser of `polarlab`."""
    modules = commands()
    parser = _Parser(
        prog="polarlab",
        description="Launches low-diameter networks as real emulated fabrics and measures them.",
        epilog=_epilog(command.EXAMPLES[0] for command in modules.values()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help="version of PolarLab"
    )
    subparsers = parser.add_subparsers(
        dest="subcommand", required=True, metavar="COMMAND", parser_class=CommandParser
    )
    for name, command in modules.items():
        subparser = subparsers.add_parser(
            name,
            help=command.SUMMARY,
            description=command.SUMMARY,
            epilog=_epilog(command.EXAMPLES),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        subparser.add_options = command.arguments
        subparser.set_defaults(command=command.run, parser=subparser)
    return parser


def _epilog(examples: Iterable[str]) -> str:
    return "examples:\n" + "\n".join(f"  {line}" for line in examples)

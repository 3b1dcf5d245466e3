"""The parser of `polarlab` and its commands, each loaded when its options are needed."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import polarlab
from polarlab import UsageError
from polarlab.process import Status

if TYPE_CHECKING:
    from polarlab.api.command_line.declarations import Option
    from polarlab.cli.options import Base

# The modules of the commands, in the order of the help.
_MODULES = {
    "topology": "topology",
    "families": "lists.families",
    "verify": "verify",
    "predict": "predict",
    "routings": "lists.routings",
    "patterns": "lists.patterns",
    "explain": "explain",
    "rules": "rules",
    "up": "up",
    "run": "run",
    "sweep": "sweep",
    "simulate": "simulation.simulate",
    "saturation": "simulation.saturation",
    "crosscheck": "simulation.crosscheck",
    "demo": "demo",
    "watch": "watch",
    "plot": "plot",
    "report": "report",
    "compare": "compare",
    "paper": "paper",
    "schema": "lists.schema",
    "cite": "lists.cite",
    "doctor": "doctor",
    "clean": "clean",
}
# Command -> its name in the declarations of options, if that differs.
_KINDS = {"demo": "failover"}
_HELP_ALL = "--help-all"
_MAX_HOMES = 4  # commands that a hint names


class Command(Protocol):
    """Interface of the modules of commands."""

    SUMMARY: str
    EXAMPLES: Sequence[str]
    run: Callable[[argparse.Namespace], Status]


class _Parser(argparse.ArgumentParser):
    """A parser that raises UsageError for wrong use, instead of printing its usage and ending the program."""

    def error(self, message: str) -> NoReturn:
        if wrong := re.search("COMMAND: invalid choice: '([^']*)'", message):
            from polarlab.api.command_line.declarations import hint

            message = (
                f"COMMAND must be one of {', '.join(_MODULES)}, got {wrong[1]!r}{hint(wrong[1], _MODULES)}"
            )
        raise UsageError(f"{message} (see `{self.prog} --help`)")


class _Help(argparse._HelpAction):
    """Prints the help of a command and ends the program; raises an error if the topology is unknown."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, *others: Any) -> None:
        from polarlab.cli.options import check_family

        assert isinstance(parser, CommandParser)
        check_family(namespace, parser.base)
        super().__call__(parser, namespace, *others)


class _ShortHelp(_Help):
    """Prints the help of a command without its less common options, and ends the program."""

    def __call__(self, parser: argparse.ArgumentParser, *arguments: Any) -> None:
        assert isinstance(parser, CommandParser)
        parser.shorten()
        super().__call__(parser, *arguments)


class CommandParser(_Parser):
    """A command's parser, to which options are added only when it parses or shows its help.

    Attributes:
        kind: name of the command in the declarations of options; empty until it is set.
        base: experiment on which the options are based, from a file or results; or the error in reading it.
    """

    kind = ""
    base: Base = None

    def __init__(self, **settings: Any) -> None:
        """Creates the parser with settings of argparse."""
        super().__init__(**settings, add_help=False)
        self.add_argument("-h", "--help", action=_ShortHelp, help="show this help message and exit")
        self.add_argument(_HELP_ALL, action=_Help, help="show the help of all options and exit")

    @property
    def option_names(self) -> Iterable[str]:
        """The names of the command's options, with their dashes."""
        return self._option_string_actions.keys() - {_HELP_ALL}

    @property
    def declared(self) -> Iterable[Option]:
        """The declarations of the command's options."""
        return [vars(action)["declared"] for action in self._actions if "declared" in vars(action)]

    def describe_options(self) -> None:
        """Sets the help texts of the options, which are computed only if help is shown."""
        for action in self._actions:
            if action.help != argparse.SUPPRESS and "described" in vars(action):
                action.help = vars(action)["described"]().replace("%", "%%")

    def format_help(self) -> str:
        """Returns the help of the command."""
        self.describe_options()
        return super().format_help()

    def shorten(self) -> None:
        """Hides the less common options in the help, and adds a sentence that says how to see them."""
        declared = {action: vars(action).get("declared") for action in self._actions}
        rare = {action: option for action, option in declared.items() if option and not option.common}
        parameters = any(
            one.table == "topology" and action.help != argparse.SUPPRESS for action, one in rare.items()
        )
        for action in rare:
            action.help = argparse.SUPPRESS
        for group in self._action_groups:
            if rare.keys() >= {*group._group_actions}:
                group.description = None
        more = ", and NAME --help the parameters of a topology" if parameters else ""
        if rare:
            self.description = f"{self.description}\n\nThe most common options; {_HELP_ALL} shows all{more}."

    def complete_options(self, words: Sequence[str] = ()) -> None:
        """Adds the command's options; later calls do nothing.

        Args:
            words: words to be parsed, which may name the topology whose parameters are options.
        """
        if self.kind:
            from polarlab.cli.options import add_options, meant_kind

            kind, self.kind = meant_kind(self.kind, words), ""
            self.set_defaults(kind=kind)
            self.base = add_options(self, kind, words)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parses with all options; argparse calls this for the chosen command only."""
        self.complete_options(args or ())
        return super().parse_known_args(args, namespace)


class _Version(argparse.Action):
    """Prints the version, which takes a while to look up, and ends the program."""

    def __call__(self, parser: argparse.ArgumentParser, *_arguments: object) -> None:
        print(f"polarlab {polarlab.__version__}")
        parser.exit()


def run(arguments: Sequence[str]) -> Status:
    """Parses a command line, runs its command, and returns the exit status."""
    if "_ARGCOMPLETE" in os.environ:  # a shell asks for completions
        _complete(make_parser())
    parsed = parse(arguments)
    from polarlab.cli.options import approve

    approve(parsed)
    if getattr(parsed, "print_config", False):
        parsed.experiment.resolve()  # raises an error instead of printing an experiment that cannot run
        experiment = parsed.experiment.complete
        print(json.dumps(experiment.to_dict()) if parsed.json else experiment.to_toml().rstrip("\n"))
        return Status.DONE
    command: Callable[[argparse.Namespace], Status] = parsed.command
    experiment = getattr(parsed, "experiment", None)
    if experiment and getattr(parsed, "estimate", False):
        command = _print_estimate
    with experiment.errors_located() if experiment else contextlib.nullcontext():
        return command(parsed)


def _print_estimate(arguments: argparse.Namespace) -> Status:
    from polarlab.api.estimates import estimate
    from polarlab.cli.console import print_result

    found = estimate(arguments.experiment, getattr(arguments, "workers", None))
    print_result(arguments, vars(found) if arguments.json else found.words())
    return Status.DONE


def _complete(parser: argparse.ArgumentParser) -> None:
    """Prints the completions of the command line for the shell, and ends the program."""
    import argcomplete

    line = os.environ["COMP_LINE"].encode()[: int(os.environ["COMP_POINT"])].decode(errors="ignore")
    # The command and the words typed completely so far; one of them may name a family.
    command, *words = [str(word) for word in argcomplete.split_line(line)[3][1:]] or [""]
    for action in parser._actions:  # argparse has no public way to list its commands
        if isinstance(action, argparse._SubParsersAction) and command in action.choices:
            action.choices[command].complete_options(words)
    argcomplete.autocomplete(parser, default_completer=argcomplete.SuppressCompleter())


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Parses a command line; the result's `experiment` contains the options of experiments.

    Raises:
        UsageError: the words are not a command and its options, or a value is outside its domain.
    """
    if any(word.startswith("--plu") for word in words):
        from polarlab.cli.approval import load_plugins

        load_plugins(words)
    shows = [*words[:2]] == ["demo", "web"]
    if shows:
        from polarlab.cli.page import DEMO_HELP, demo_words

        if {"-h", "--help"}.intersection(words):
            print(DEMO_HELP, end="")
            raise SystemExit(Status.DONE)
        words, waits = ["up", *demo_words([one for one in words[2:] if one != "--wait"])], "--wait" in words
    # `--web` without `=` takes no value: the next word is not its value.
    words = [f"{word}=" if word == "--web" else word for word in words]
    parsed, unknown = make_parser(words[:1]).parse_known_args(words)
    if unknown:  # only options are reported: a word after an unknown option may be its value
        from polarlab.cli.options import check_family

        options = [word for word in unknown if word.startswith("-")]
        values = {word for option, word in pairwise(words) if option in options}
        check_family(parsed, parsed.parser.base, values)  # a mistyped family would make its options unknown
        nearest = _hint(options[0], parsed.parser.option_names) if options else ""
        parsed.parser.error(f"unrecognized arguments: {' '.join(options or unknown)}{nearest}")
    from polarlab.cli.options import read_options

    read_options(parsed, parsed.kind, parsed.parser.base)
    if shows:
        if parsed.exec:
            raise UsageError("--exec is for the prompt of `polarlab up`; leave it out")
        parsed.command = commands(["demo"])["demo"].show  # type: ignore[attr-defined]
        parsed.wait = waits
    return parsed


def _hint(word: str, known: Iterable[str]) -> str:
    """Returns a hint for the error about an option `word` that is not among a command's `known` options."""
    from polarlab.api.command_line.declarations import hint
    from polarlab.cli.options import options_of_command

    name = word.partition("=")[0].removeprefix("--")
    homes = [
        command
        for command in _MODULES
        for option in options_of_command(_KINDS.get(command, command))
        if not option.positional and name in (option.name, f"no-{option.name}" * (option.type is bool))
    ]
    if homes:
        more = ", ..." if len(homes) > _MAX_HOMES else ""
        return f"; --{name} is an option of {', '.join(homes[:_MAX_HOMES])}{more}"
    return hint(name, [flag.removeprefix("--") for flag in known]).replace("'", "'--", 1)


def commands(names: Iterable[str] = _MODULES) -> Mapping[str, Command]:
    """Returns the modules of commands by name.

    Args:
        names: names of commands; by default all.
    """
    return {name: importlib.import_module(f"polarlab.cli.commands.{_MODULES[name]}") for name in names}


def make_parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Returns the parser of `polarlab`.

    Args:
        words: words to be parsed; if they begin with a command, the parser has only that one, and no other
            command's module is loaded.
    """
    modules = commands(words[:1] if words and words[0] in _MODULES else _MODULES)
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
        subparser.kind = _KINDS.get(name, name)
        subparser.set_defaults(command=command.run, parser=subparser, kind=subparser.kind)
    return parser


def _epilog(examples: Iterable[str]) -> str:
    return "examples:\n" + "\n".join(f"  {line}" for line in examples)

"""Options on the command line: declarations become options of a parser, and parsed values an experiment."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from shlex import quote
from typing import Any

from polarlab import UsageError
from polarlab.api.command_line.declarations import (
    ENGINE,
    FAILOVER,
    FAMILIES,
    KINDS,
    RUN,
    SIMULATED_SWEEP,
    SWEEP,
    TABLES,
    TOPOLOGY,
    CommandRequest,
    Experiment,
    Given,
    Option,
    command_request,
    declared_kind,
    every_option,
    family_options,
    hint,
    noun_of,
    options_of,
    own_options,
)
from polarlab.cli.approval import approved_at_terminal
from polarlab.process import print_line

_FILE, _AGAIN = ".toml", "--again"
Base = Experiment | UsageError | None


def options_of_command(command: str) -> list[Option]:
    """Returns all options of a command except parameters of families; positional arguments first."""
    return sorted(
        [*every_option(command), *own_options(command)],
        key=lambda option: (not option.positional, option.name != "demonstration"),
    )


def _sweep_help(option: Option) -> str:
    """Returns the help of an option of `sweep`, and its meaning in simulations if that is different."""
    simulated = [o.help_in(SIMULATED_SWEEP) for o in options_of(SIMULATED_SWEEP) if o.name == option.name]
    if SWEEP not in option.commands:
        return simulated[-1]
    text = option.help_in(SWEEP)
    other = simulated[-1] if simulated else text
    return text if other == text or option.name == ENGINE else f"{text}; with simulations: {other}"


def meant_kind(command: str, words: Sequence[str]) -> str:
    """Returns the command whose declared options apply: `run` for a `crosscheck` that measures first.

    Args:
        command: name of the command.
        words: words of the command line that follow the command.
    """
    if command != "crosscheck":
        return command
    measures = any(word in FAMILIES or word.endswith(_FILE) for word in words)
    # A mistyped family gets the same error as in `polarlab run`.
    measures = measures or any(hint(word, FAMILIES) and not Path(word).exists() for word in words[:1])
    return RUN if measures else command


def add_options(parser: argparse.ArgumentParser, command: str, words: Sequence[str]) -> Base:
    """Adds the options of a command, and the parameters of the family that it names, or of all families.

    Args:
        parser: the command's parser.
        command: name of the command, as the declarations have it.
        words: words of the command line that follow the command; empty if only its help is needed.

    Returns:
        The experiment on which the options are based: from a file, or from results to measure again. If it
        does not fit this command, the error to raise when the options are read.
    """
    options = options_of_command(command)
    tables = dict.fromkeys(option.table for option in options if option.table)
    titled = {table: TABLES[table] for table in tables}
    groups = {table: parser.add_argument_group(t.title, t.text or None) for table, t in titled.items()}
    words = [part for word in words for part in (word.split("=", 1) if word[:2] == "--" else [word])]
    base: Base = None
    if TOPOLOGY in groups:
        flags = {name for o in options if o.type is bool for name in (f"--{o.name}", f"--no-{o.name}")}
        try:
            base = _base(command, words, flags)
        except UsageError as error:
            base = error
        named = (word for word in _places(words, flags) if word in FAMILIES)
        family = base.family if isinstance(base, Experiment) else next(named, None)
        _add_parameters(groups[TOPOLOGY], family, command, words)
    optional_name = command in ("topology", FAILOVER) or _AGAIN in words
    optional = {TOPOLOGY} if optional_name else {"item"}
    for option in options:
        place = parser if option.positional else groups.get(option.table, parser)
        text = partial(_sweep_help, option) if command == SWEEP and option.table else None
        _add(place, option, command, text=text, optional=option.name in optional)
    return base


def _add_parameters(
    group: argparse._ActionsContainer, family: str | None, command: str, words: Sequence[str]
) -> None:
    """Adds the parameters of a family, or of all families, to a group of a parser.

    Args:
        group: the group.
        family: the family that the command line names; None for all.
        command: name of the command, as the declarations have it.
        words: words of the command line. If they contain an option that may be another family's parameter,
            the parameters of all families are added, hidden from the help; errors can then name the family.
    """
    meanings: dict[str, dict[str, Option]] = {}
    for name in _families_of_options(family, command, words):
        for option in family_options(name):
            meanings.setdefault(option.name, {})[name] = option
    for entries in meanings.values():
        own = entries.get(family or "")
        option = own or next(iter(entries.values()))
        _add(
            group,
            replace(option, common=family is not None),
            command,
            text=partial(getattr, own, "described") if own else partial(_help_of_families, entries),
            short=_short_name(option, command),
            hidden=family is not None and own is None,
        )


def _families_of_options(family: str | None, command: str, words: Sequence[str]) -> Iterable[str]:
    """Returns the names of the families whose parameters a command's parser must know.

    If the command and the named family declare every option on the command line, this is the named family.
    Otherwise it is all families, so that an error can say which family has the unknown option.
    """
    if family is not None:
        known = [*options_of_command(command), *family_options(family)]
        flags = {f"--{prefix}{option.name}" for option in known for prefix in ("", "no-")}
        if all(word in flags for word in words if word.startswith("--")):
            return [family]
    return dict.fromkeys([*FAMILIES.loaded(), *filter(None, [family])])


def _help_of_families(entries: Mapping[str, Option]) -> str:
    """Returns the help of a parameter that several families have: each of its meanings, with the families.

    Args:
        entries: family -> its declaration of the parameter.
    """
    texts: dict[str, list[str]] = {}
    for name, option in entries.items():
        texts.setdefault(option.described, []).append(name)
    return "; ".join(f"{meaning} ({', '.join(names)})" for meaning, names in texts.items())


def _short_name(option: Option, command: str) -> str:
    """Returns a second name of a family's parameter, without the prefix `topology-`; may be empty."""
    name = option.name.removeprefix(f"{TOPOLOGY}-")
    taken = {other.name for other in options_of_command(command)}
    return name if name not in taken | {option.name} else ""


def _add(
    group: argparse._ActionsContainer,
    option: Option,
    command: str,
    *,
    text: Callable[[], str] | None = None,
    short: str = "",
    optional: bool = False,
    hidden: bool = False,
) -> None:
    """Adds an option to a parser or to one of its groups; `CommandParser.describe_options` sets its help."""
    flags = [f"--{name}" for name in (short, option.name) if name]
    more: dict[str, Any] = {"dest": option.key, "default": argparse.SUPPRESS}
    if hidden:
        more["help"] = argparse.SUPPRESS
    if option.type is bool:
        more["action"] = argparse.BooleanOptionalAction if option.table else "store_true"
    else:
        metavar = option.metavar or _metavar(option)
        more["metavar"] = tuple(metavar.split()) if " " in metavar else metavar
        if " " in metavar:
            more["nargs"] = 2
        elif option.repeatable:
            more |= {"nargs": "+"} if option.positional else {"action": "append"}
        elif optional:
            more["nargs"] = "?"
    if option.positional:
        more.pop("dest")
    action = group.add_argument(*([option.key] if option.positional else flags), **more)
    vars(action).update(
        completer=_completer(option),  # an attribute that argcomplete reads
        declared=option,
        described=text or partial(option.help_in, command),
    )


def _metavar(option: Option) -> str:
    """Returns the placeholder for an option's value in usage lines, such as `FILE` or `N`, by its type."""
    if option.file:
        return "FILE"
    if option.listed or option.choices or option.known or option.type is str:
        return "LIST" if option.listed else option.key.upper()
    return option.unit.upper() or ("N" if option.type is int else "FRACTION")


def _completer(option: Option) -> Callable[..., list[str]]:
    def complete(prefix: str, **_more: Any) -> list[str]:
        from argcomplete import FilesCompleter

        before = prefix[: prefix.rfind(",") + 1] if option.listed else ""
        files = option.file or option.name == TOPOLOGY
        return [before + name for name in option.names()] + (FilesCompleter()(prefix) if files else [])

    return complete


def _places(words: Sequence[str], flags: Iterable[str]) -> list[str]:
    """Returns the words of a command line that are positional: neither options nor their values.

    Args:
        words: the words.
        flags: options that take no value.
    """
    pairs = pairwise(["", *words])
    return [
        word
        for before, word in pairs
        if not word.startswith("-") and (not before.startswith("-") or before in flags)
    ]


def _base(command: str, words: Sequence[str], flags: Iterable[str]) -> Experiment | None:
    """Returns the experiment in the file or the results that a command line names; None if it names neither.

    Args:
        command: name of the command; an experiment of another kind raises UsageError.
        words: words of the command line.
        flags: options that take no value.
    """
    places = _places(words, flags)
    file = next((word for word in places if word.endswith(_FILE)), None)
    again = dict(pairwise(words)).get(_AGAIN)
    if again is not None:
        from polarlab.api.requests import rerun_of

        experiment, use = rerun_of(again), f"{_AGAIN} {quote(again)}"
    elif file is not None:
        experiment, use = Experiment.from_toml(file), quote(file)
    else:
        folder = next((word for word in places if Path(word, "manifest.json").exists()), None)
        if folder and command in KINDS and not any(word in FAMILIES for word in places):
            raise UsageError(
                f"topology must be a family or a file, got results; use {_AGAIN} {quote(folder)}"
            )
        return None
    if command in KINDS and experiment.kind != command:
        other = "demo failover" if experiment.kind == FAILOVER else experiment.kind
        raise UsageError(
            f"{again or file} must be a {noun_of(command)}, got a {noun_of(experiment.kind)}; use `polarlab "
            f"{other} {use}`"
        )
    return experiment


def check_family(arguments: argparse.Namespace, base: Base, values: Container[str] = ()) -> None:
    """Raises UsageError if a command line names a family of topologies that does not exist.

    Args:
        arguments: the parsed words.
        base: experiment on which the options are based.
        values: words that may be values of unknown options instead of a family.
    """
    name = getattr(arguments, TOPOLOGY, None)
    if isinstance(name, str) and name not in values and base is None:
        for option in options_of(arguments.kind):
            if option.name == TOPOLOGY:
                option.check(name)


def read_options(arguments: argparse.Namespace, command: str, base: Base) -> None:
    """Replaces the words of options by checked values, in place, and adds the attribute `experiment`.

    Args:
        arguments: the parsed words; options that were not given get their defaults.
        command: name of the command, as the declarations have it.
        base: experiment that supplies values missing on the command line, or an error, which is raised.

    Raises:
        UsageError: an option is outside its domain, or options contradict each other.
    """
    for option in own_options(command):
        setattr(arguments, option.key, _own_value(option, getattr(arguments, option.key, None)))
    if isinstance(base, UsageError):
        raise base
    if not any(option.name == TOPOLOGY for option in options_of(command)):
        return
    given = dict(vars(arguments))
    if base:
        name = given.pop(TOPOLOGY, None)  # name of the experiment's file
        if name is not None and getattr(arguments, "again", None):
            raise UsageError(f"{_AGAIN} uses the topology of its results; leave {name} out")
    family = base.family if base else str(given.get(TOPOLOGY, "polarfly" if command == FAILOVER else ""))
    kind = _kind(command, given, base)
    # Options of other families, or of a sweep's other engine, are rejected like options that do not exist.
    foreign = {option.name: None for option in arguments.parser.declared if option.table}
    declared = {option.name: option for option in options_of(kind, family if family in FAMILIES else None)}
    values: dict[str, Given] = {}
    for option_name, known in {**foreign, **declared}.items():
        value = given.get(option_name.replace("-", "_"))
        if value is not None:
            values[option_name] = known.read(value) if known and isinstance(value, str) else value
    if command == "topology" and not base and TOPOLOGY not in values:
        arguments.experiment = None
        return
    request = (
        command_request(base, command, values) if base else CommandRequest(Experiment(command, values), "")
    )
    if request.note:
        print_line(f"polarlab: {request.note}")
    arguments.experiment = request.experiment


def approve(arguments: argparse.Namespace) -> None:
    """Asks the user to approve actions that other users' files request from root, for commands that measure.

    Args:
        arguments: options that were read; their experiment becomes the approved one.

    Raises:
        UsageError: the user does not approve the actions, or there is no terminal for the question.
    """
    if getattr(arguments, "experiment", None):
        allowed, asks = arguments.run_programs, not getattr(arguments, "json", False)
        arguments.experiment = approved_at_terminal(arguments.experiment, allowed=allowed, asks=asks)


def _kind(command: str, given: Mapping[str, Any], base: Experiment | None) -> str:
    """Returns the name under which a command's options are declared; for `sweep`, it depends on the engine.

    Args:
        command: name of the command.
        given: option -> value, from the command line.
        base: experiment that supplies all other values; None without one.
    """
    return declared_kind(command, {**(base.values if base else {}), **given})


def _own_value(option: Option, value: Any) -> Any:
    """Returns the checked value of a command's option that experiments do not store; files become paths."""
    if value is None:
        return False if option.type is bool else [] if option.repeatable else option.default
    if isinstance(value, list):
        paths = option.file and option.repeatable
        return [Path(str(option.check(word))) if paths else word for word in value]
    if isinstance(value, str):
        return Path(str(option.check(value))) if option.file else option.read(value)
    return value

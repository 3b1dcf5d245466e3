"""Options on the command line: added to a parser, and read as an experiment, from their declarations."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from polarlab import UsageError
from polarlab.api.command_line.declarations import (
    ENDPOINTS,
    ENGINE,
    FAILOVER,
    FAMILIES,
    KINDS,
    MAX_WORKERS,
    RADIX,
    RUN,
    SATURATION,
    SIMULATE,
    SIMULATED_SWEEP,
    SWEEP,
    TABLES,
    TOPOLOGY,
    UP,
    Experiment,
    Given,
    Option,
    Reuse,
    at,
    declared_kind,
    family_options,
    hint,
    options_of,
    reused,
)
from polarlab.api.command_line.papers import LIST, SEEDS
from polarlab.cli.approval import approved_at_terminal
from polarlab.cli.error_stream import print_line

_LISTS, _RESULTS = ("families", "patterns", "routings"), ("plot", "report", "compare", "crosscheck")
_WITH_JSON = (
    *("topology", "verify", "predict", "explain", "rules", *KINDS, SATURATION),
    *(*_LISTS, *_RESULTS, "paper", "doctor", "clean"),
)
# Commands whose options a file or results can give.
_OF_FILES = (*KINDS, UP, SATURATION, "topology", "verify", "predict", "rules", "explain")
_EVERY = (*_OF_FILES, *_LISTS, *_RESULTS, "watch", "paper", "schema", "doctor", "clean")
_WATCHED = (UP, RUN, SWEEP, FAILOVER, "watch")  # commands with a live page
_FILE, _AGAIN = ".toml", "--again"
_DRAWN = ("plot", "report", "compare")  # commands whose figures have a look of their own
_RESULT_FOLDER = "directory of a run, a simulation, a sweep or a failover"
Base = Experiment | UsageError | None


def _own(name: str, commands: Sequence[str], text: str, **more: Any) -> Option:
    if more.get("type") is bool:
        more["default"] = False
    return Option(**{"name": name, "type": str, "help": text, "commands": commands, **more})


def _place(name: str, commands: Sequence[str], text: str, **more: Any) -> Option:
    return _own(name, commands, text, positional=True, required=True, **more)


# Options of commands that are not part of an experiment.
# fmt: off
OWN: tuple[Option, ...] = (
    _place("demonstration", (FAILOVER,), "the demonstration", choices=lambda: (FAILOVER,), metavar=FAILOVER),
    _place("results", ("watch",), "directory of a run or a failover", file=True, metavar="RESULTS"),
    _place("results", ("plot", "report"), _RESULT_FOLDER, file=True,
           metavar="RESULTS"),
    _place("results", ("crosscheck",), "directory of a run or a sweep; or what `polarlab run` takes, "
           "with its options, which is measured first (root)", file=True, metavar="RESULTS"),
    _place("runs", ("compare",), _RESULT_FOLDER, file=True, repeatable=True,
           metavar="RUN"),
    _place("switch", ("rules",), "switch, as s3", metavar="switch"),
    _place("switch", ("explain",), "source switch, as s3", metavar="switch"),
    _place("other", ("explain",), "destination switch, as s17", metavar="other"),
    _own("failures", ("verify",), "failures, one at a time", default="none",
         choices=at("polarlab.api.analysis.theory:FAILURES")),
    _own("deadlock", ("verify",), "proof as well that packets never wait for one another in a circle on a "
         "lossless network", type=bool),
    _own("virtual-channels", ("verify",), "virtual channels of --deadlock: one, or hop:N, of which a packet "
         "takes that of its hop", default_text="one", metavar="one|hop:N"),
    _own("count-layers", ("verify",), "number of layers without circles into which --deadlock divides the "
         "paths, where every pair has one", type=bool),
    _own("certificate", ("verify",), "new file of the order of channels by which --deadlock proves that "
         "there is no circle, .csv", file=True),
    _own("figure", ("verify",), "new figure of the circle that --deadlock finds, .png, .svg or .pdf",
         file=True),
    _own("without", ("rules",), "failed links and switches, as link:s1-s7,switch:s4", metavar="ELEMENTS"),
    _own("list", ("topology",), "list of families, with parameters and example", type=bool),
    _own("designs", ("topology",), "list of all polarstars of a --radix, by size", type=bool),
    _own("classes", ("topology",), "classes of routers under the automorphisms of the graph", type=bool),
    _own("racks", ("topology",), "racks, and the links between each two of them", type=bool),
    _own("radix", ("families",), f"{RADIX.help}; alone, of the nearest radix the member with the most hosts",
         type=int, least=RADIX.least, most=RADIX.most, default_text="any"),
    _own("endpoints", ("families",), f"{ENDPOINTS.help}; alone, of members that differ by a tenth at most "
         "the one with the smallest radix, else the nearest; with --radix, that with the least sum of "
         "relative differences",
         type=int, least=ENDPOINTS.least, most=ENDPOINTS.most, default_text="any"),
    _own("group", ("families",), "group of families", choices=at("polarlab.api.graphs:SERIES"),
         default_text="all"),
    _own("costs", ("families",), "bisections, cables between racks and costs, which take longer", type=bool),
    _own("prices", ("families", "paper"), "file of the prices of routers and cables, .toml",
         default_text="those of the Slim Fly paper", file=True),
    _own("export", ("topology",), "new file of the graph", metavar="FORMAT FILE", file=True,
         known=at("experiments.theory.export:FORMATS")),
    _own("figure", ("topology",), "new figure of the graph, .png, .svg or .pdf", file=True),
    _own("figure", ("compare",), "new figure of all, .png, .svg or .pdf", file=True),
    _own("format", ("plot",), "formats of the files: png, svg, pdf", listed=True, default_text="png,svg"),
    _own("width", _DRAWN, "width of figures, as 3.3in or 84mm, to which texts and panels are fitted",
         default_text="that of each kind"),
    _own("no-title", _DRAWN, "figures without titles", type=bool),
    _own("order", _DRAWN, "panels and curves of figures that come first, by their names, as uniform,ugal-pf",
         listed=True, default_text="by name"),
    _own("x", _DRAWN, "key of --vary on the horizontal axis of sweeps, or `load`", metavar="KEY",
         default_text="load if it varies, else the first key with numbers"),
    _own("booksim", _DRAWN, "points of the PolarFly authors' simulator in figures of sweeps; it was run for "
         "ER_5 with 3 hosts a router", type=bool),
    _own("exec", (UP,), "line for the prompt, several in their order until one fails (exit status 1), unless "
         "it ends in `|| true`", default_text="an open prompt, or the lines of standard input", metavar="CMD",
         repeatable=True),
    _own("web", _WATCHED, "live page in the browser, on 127.0.0.1:8642 or another address, as --web=8080",
         default_text="no page", metavar="[HOST:]PORT"),
    _own("web-certificate", _WATCHED, "TLS certificate of the live page, in PEM", file=True,
         default_text="plain HTTP"),
    _own("web-key", _WATCHED, "key of the TLS certificate, in PEM", file=True, default_text="plain HTTP"),
    _own("web-open", _WATCHED, "live page without a token, for all users of this machine", type=bool),
    _own("out", ("report",), "new file of the page", default_text="report.html in RESULTS", file=True),
    _own("again", KINDS, "results that are measured again, as their manifest says; other options change it",
         file=True, metavar="DIR"),
    _own("plugin", _EVERY, "file with topologies, routings, patterns, collectives or motifs of your own",
         file=True, repeatable=True, metavar="FILE.py"),
    _own("run-programs", _EVERY, "programs, input files and an output directory that a file or results of "
         "another user name, and another user's plug-ins, are used without a question", type=bool),
    _own("print-config", KINDS, "experiment as a file, on standard output; nothing is run", type=bool),
    _own("estimate", (SWEEP, SIMULATE, SATURATION, "paper"), "points, time and memory that it would take, "
         "about; nothing is run or written", type=bool),
    _own("strict", (RUN, SWEEP), "exit status 1 if a result is not valid", type=bool),
    _own("workers", (SWEEP, "paper"), "processes of this machine that simulate points", type=int, least=1,
         most=MAX_WORKERS, default_text="one on each core"),
    _own("scheduler", (SWEEP, "paper"), "scheduler of a dask.distributed cluster that simulates points, as "
         "tcp://HOST:PORT", default_text="this machine", metavar="ADDRESS"),
    _own("cluster-tls", (SWEEP, "paper"), "folder with ca.pem, certificate.pem and key.pem, for --scheduler "
         "tls://HOST:PORT", default_text="dask's configuration", file=True, metavar="DIR"),
    _own("insecure-cluster", (SWEEP, "paper"), "trust a scheduler on another machine without TLS, and any as "
         "root: a cluster can run code here", type=bool),
    _place("paper", ("paper",), "name of a paper, or `list` for all their figures and tables",
           known=at("polarlab.api.analysis.papers:PAPERS"), words=(LIST,), metavar="PAPER"),
    _own("item", ("paper",), "figure or table, as fig12, or `all`", positional=True, metavar="ITEM"),
    _own("quick", ("paper",), "fewer sizes and runs, and smaller networks in simulations", type=bool),
    _own("seeds", ("paper",), SEEDS.help, type=int, least=SEEDS.least, most=SEEDS.most,
         default_text="that of the item"),
    _own("curves", ("paper",), "curves to simulate, by the labels in the figure, as PF-MIN, or under one "
         "pattern, as PF-MIN:tornado, or `none`: of the others "
         "the output directory's points are taken", default_text="all", metavar="LABEL,..."),
    _own("out", ("paper",), "output directory; items that are complete there are not computed again",
         default_text="in results/papers, by paper and options", file=True, metavar="DIR"),
    _own("json", _WITH_JSON, "one JSON object on standard output", type=bool),
)
# fmt: on


def options_of_command(command: str) -> list[Option]:
    """Returns all options of a command but for the parameters of families, those by their places first."""
    declared = [*_declared(command), *(option for option in OWN if command in option.commands)]
    return sorted(declared, key=lambda option: (not option.positional, option.name != "demonstration"))


def _declared(command: str) -> list[Option]:
    """Returns the declared options of a command; of a sweep those of all engines, one of each name."""
    own = list(options_of(command))
    names = {option.name for option in own}
    others = options_of(SIMULATED_SWEEP) if command == SWEEP else ()
    return [*own, *(option for option in others if option.name not in names)]


def _sweep_help(option: Option) -> str:
    """Returns the help of an option of a sweep, which may have another meaning with simulations."""
    meant = {o.name: o.help_in(SIMULATED_SWEEP) for o in options_of(SIMULATED_SWEEP)}
    if SWEEP not in option.commands:
        return meant[option.name]
    text = option.help_in(SWEEP)
    other = meant.get(option.name, text)
    return text if other == text or option.name == ENGINE else f"{text}; with simulations: {other}"


def meant_kind(command: str, words: Sequence[str]) -> str:
    """Returns the command whose options a command has with these words, as the declarations have it.

    Args:
        command: name of the command.
        words: words of the command line that follow the command.
    """
    if command != "crosscheck":
        return command
    measures = any(word in FAMILIES or word.endswith(_FILE) for word in words)
    # A mistyped family is told as `polarlab run` tells it.
    measures = measures or any(hint(word, FAMILIES) and not Path(word).exists() for word in words[:1])
    return RUN if measures else command


def add_options(parser: argparse.ArgumentParser, command: str, words: Sequence[str]) -> Base:
    """Adds the options of a command, and the parameters of the family that it names, or of all families.

    Args:
        parser: the command's parser.
        command: name of the command, as the declarations have it.
        words: words of the command line that follow the command; none where only its help is wanted.

    Returns:
        The experiment that the words begin with: of a file, or of results that are measured again. If these
        are not an experiment of this command, the error, to be raised when the options are read.
    """
    options = options_of_command(command)
    tables = dict.fromkeys(option.table for option in options if option.table)
    groups = {table: parser.add_argument_group(*TABLES[table]) for table in tables}
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
        _add_parameters(groups[TOPOLOGY], family, command)
    optional_name = command in ("topology", FAILOVER) or _AGAIN in words
    optional = {TOPOLOGY} if optional_name else {"item"}
    for option in options:
        place = parser if option.positional else groups.get(option.table, parser)
        text = _sweep_help(option) if command == SWEEP and option.table else ""
        _add(place, option, command, text=text, optional=option.name in optional)
    return base


def _add_parameters(group: argparse._ActionsContainer, family: str | None, command: str) -> None:
    """Adds the parameters of a family, and those of others hidden, or those of all families."""
    meanings: dict[str, dict[str, Option]] = {}
    for name in dict.fromkeys([*FAMILIES.loaded(), *filter(None, [family])]):
        for option in family_options(name):
            meanings.setdefault(option.name, {})[name] = option
    for entries in meanings.values():
        if family is None:
            texts: dict[str, list[str]] = {}
            for name, option in entries.items():
                texts.setdefault(option.described, []).append(name)
            text = "; ".join(f"{meaning} ({', '.join(names)})" for meaning, names in texts.items())
        else:
            text = entries[family].described if family in entries else argparse.SUPPRESS
        option = entries.get(family or "", next(iter(entries.values())))
        _add(group, option, command, text=text, short=_short_name(option, command))


def _short_name(option: Option, command: str) -> str:
    """Returns a family's own name of a parameter that has another one because some other command has it."""
    name = option.name.removeprefix(f"{TOPOLOGY}-")
    taken = {other.name for other in options_of_command(command)}
    return name if name not in taken | {option.name} else ""


def _add(
    group: argparse._ActionsContainer,
    option: Option,
    command: str,
    *,
    text: str = "",
    short: str = "",
    optional: bool = False,
) -> None:
    """Adds an option to a parser or a group of it; its text is read later, by its declaration."""
    flags = [f"--{name}" for name in (short, option.name) if name]
    more: dict[str, Any] = {"dest": option.key, "default": argparse.SUPPRESS}
    more["help"] = (
        (text or option.help_in(command)).replace("%", "%%").replace("==%%SUPPRESS%%==", argparse.SUPPRESS)
    )
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
    setattr(action, "completer", _completer(option))  # noqa: B010  (argcomplete's own attribute)


def _metavar(option: Option) -> str:
    """Returns the name of an option's value in usage lines, by its type."""
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
    """Returns the words of a command line that are neither options nor their values."""
    pairs = pairwise(["", *words])
    return [
        word
        for before, word in pairs
        if not word.startswith("-") and (not before.startswith("-") or before in flags)
    ]


def _base(command: str, words: Sequence[str], flags: Iterable[str]) -> Experiment | None:
    """Returns the experiment of the file or of the results that a command line names; None of neither."""
    file = next((word for word in _places(words, flags) if word.endswith(_FILE)), None)
    again = dict(pairwise(words)).get(_AGAIN)
    if again is not None:
        from polarlab.api.requests import results_again

        experiment, use = results_again(again), f"{_AGAIN} {again}"
    elif file is not None:
        experiment, use = Experiment.from_toml(file), file
    else:
        return None
    if command in KINDS and experiment.kind != command:
        other = "demo failover" if experiment.kind == FAILOVER else experiment.kind
        raise UsageError(
            f"{again or file} must be a {command}, got a {experiment.kind}; use `polarlab {other} {use}`"
        )
    return experiment


def check_family(arguments: argparse.Namespace, base: Base) -> None:
    """Raises UsageError if a command line names a family of topologies that does not exist."""
    name = getattr(arguments, TOPOLOGY, None)
    if isinstance(name, str) and base is None:
        for option in options_of(arguments.kind):
            if option.name == TOPOLOGY:
                option.check(name)


def read_options(arguments: argparse.Namespace, command: str, base: Base) -> None:
    """Reads the options of a command line by their declarations, in place, and adds its `experiment`.

    Args:
        arguments: the parsed words; options that were not given get their defaults.
        command: name of the command, as the declarations have it.
        base: experiment whose values hold where the command line has none; an error is raised.

    Raises:
        UsageError: an option is outside its domain, or options contradict each other.
    """
    for option in filter(lambda option: command in option.commands, OWN):
        setattr(arguments, option.key, _own_value(option, getattr(arguments, option.key, None)))
    if isinstance(base, UsageError):
        raise base
    if not any(option.name == TOPOLOGY for option in options_of(command)):
        return
    given = dict(vars(arguments))
    if base:
        name = given.pop(TOPOLOGY, None)  # of its file
        if name is not None and getattr(arguments, "again", None):
            raise UsageError(f"{_AGAIN} has a topology, that of its results; leave {name} out")
    family = base.family if base else str(given.get(TOPOLOGY, "polarfly" if command == FAILOVER else ""))
    foreign = {option.name: None for one in FAMILIES.loaded() for option in family_options(one)}
    kind = _kind(command, given, base)
    # Options of the other engine of a sweep are refused with those that do not exist.
    foreign |= {option.name: None for option in _declared(command)}
    declared = {option.name: option for option in options_of(kind, family if family in FAMILIES else None)}
    values: dict[str, Given] = {}
    for option_name, known in {**foreign, **declared}.items():
        value = given.get(option_name.replace("-", "_"))
        if value is not None:
            values[option_name] = known.read(value) if known and isinstance(value, str) else value
    if command == "topology" and not base and TOPOLOGY not in values:
        arguments.experiment = None
        return
    request = reused(base, command, values) if base else Reuse(Experiment(command, values), "")
    if request.note:
        print_line(f"polarlab: {request.note}")
    arguments.experiment = request.experiment


def approve(arguments: argparse.Namespace) -> None:
    """Asks whether root may do what files of other users name, where something is measured by them.

    Args:
        arguments: options that were read; their experiment becomes the approved one.

    Raises:
        UsageError: it is not approved, or nobody can be asked.
    """
    if arguments.kind in _OF_FILES and arguments.experiment:
        allowed, asks = arguments.run_programs, not getattr(arguments, "json", False)
        arguments.experiment = approved_at_terminal(arguments.experiment, allowed=allowed, asks=asks)


def _kind(command: str, given: Mapping[str, Any], base: Experiment | None) -> str:
    """Returns the name by which the declarations know a command with some values, or those of a file."""
    return declared_kind(command, {**(base.values if base else {}), **given})


def _own_value(option: Option, value: Any) -> Any:
    """Returns the value of an option that is not part of an experiment; files as paths."""
    if value is None:
        return False if option.type is bool else [] if option.repeatable else option.default
    if isinstance(value, list):
        paths = option.file and option.repeatable
        return [Path(str(option.check(word))) if paths else word for word in value]
    if isinstance(value, str):
        return Path(str(option.check(value))) if option.file else option.read(value)
    return value

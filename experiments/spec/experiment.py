"""Experiments: checked values of options, from a command line, a file or Python."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.spec.files.inputs import Digests, digests_of
from experiments.spec.files.source import Source
from experiments.spec.option import Given, Option
from experiments.spec.options import (
    COLLECTIVE,
    ENGINE,
    ENGINES,
    FAILOVER,
    FLOWS,
    KINDS,
    PACKETS,
    PROGRAMS,
    REPLAY,
    RUN,
    SIMULATE,
    SIMULATED,
    SWEEP,
    TOPOLOGY,
    TRACE,
    TRAFFIC_KINDS,
    UP,
    declared_kind,
    family_options,
    option_of,
    options_of,
)
from experiments.spec.variations import varied_options
from topology.errors import ParameterError, UsageError
from topology.files.reading import check_unchanged, expecting
from topology.parameters import Value, hint, one_of
from topology.registry import FAMILIES

if TYPE_CHECKING:
    from experiments.spec.resolve import Specification
    from topology.base import Topology
    from topology.networkx_graphs import NetworkxTopology

_VARY = "vary"
GRAPH_OPTION = "from"  # file of the family `graph`
# Default topology of a failover.
_FAILOVER_FABRIC: Mapping[str, Given] = {TOPOLOGY: "polarfly", "q": 5}


@dataclass
class Experiment:
    """An experiment, or the request of another command: a kind, and values of options.

    Attributes:
        kind: `run`, `sweep`, `failover` or `simulate`, or the name of another command with a topology.
        values: option -> value, for the options that were given. Python names (`link_rate`, `from_`) are
            accepted. Options that are None count as not given.
        source: the experiment's file, for errors; None if there is none.
        graph: networkx graph that replaces the file of `from`; results include it as a file. None for any
            other topology.
        settled: option -> value that replaces the option's default, such as the link rate of earlier points.
        measured: input file -> SHA-256 of the content with which results of this experiment were measured.

    Raises:
        UsageError: the kind does not have an option, a value is outside its domain, or options conflict.

    Examples:
        >>> asked = Experiment("run", {"topology": "polarfly", "q": 3, "load": 0.5})
        >>> asked.overridden({"load": 0.7}).values["load"]
        0.7
        >>> asked.to_dict()["traffic"]
        {'load': 0.5}
    """

    kind: str
    values: Mapping[str, Any]
    source: Source | None = field(default=None, compare=False, repr=False)
    graph: NetworkxTopology | None = field(default=None, compare=False, repr=False)
    settled: Mapping[str, Given] = field(default_factory=dict, compare=False, repr=False)
    measured: Digests = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        with self._located(self.values):
            self._check()

    def _check(self) -> None:
        """Brings the values into canonical form; raises UsageError if one is invalid or two conflict."""
        given = by_option(self.values)
        if self.kind == FAILOVER and given.get(TOPOLOGY, "polarfly") == "polarfly":
            given = {**_FAILOVER_FABRIC, **given}
        if TOPOLOGY not in given:
            raise UsageError("topology must be given; `polarlab topology --list` names the families")
        kind = declared_kind(self.kind, given)
        family = str(option_of(TOPOLOGY, kind).accept(given[TOPOLOGY]))
        declared = {option.name: option for option in options_of(kind, family)}
        for name in given:
            if name not in declared:
                raise UsageError(_unknown(name, self.kind, family, declared))
        values = {name: option.accept(given[name]) for name, option in declared.items() if name in given}
        self.values = values
        applies = _applicable(self.kind, values)
        for option in declared.values():
            if option.name in (*values, *self._varied) and not applies(option):
                raise UsageError(self._foreign(option))
            if values.get(option.name) in option.words and not self._measures_packets:
                other = f"`{self.kind}`" if self.kind != RUN else TRAFFIC_KINDS[self.traffic_kind].title
                raise UsageError(
                    f"--{option.name} {values[option.name]} is for runs and sweeps of generated packets, "
                    f"not for {other}; give another value"
                )
        self._check_others(declared)
        for name, key in self._varied.items():
            if name in values:
                raise UsageError(f"{name} must be given once, got --{name} and --vary {key}")

    def _check_others(self, declared: Mapping[str, Option]) -> None:
        """Raises UsageError if an option is given without one that it needs, or with one that it excludes."""
        values = self.values
        given = {name for name in values if values[name] != declared[name].default} | {*self._varied}
        for option in (declared[name] for name in values if name in given):
            if option.needs and not given & {*option.needs}:
                needed = " or ".join(f"--{name}" for name in option.needs)
                raise UsageError(f"--{option.name} needs {needed}; add it, or leave out --{option.name}")
            for other in given & {*option.excludes}:
                names = [f"--no-{n}" if values.get(n) is False else f"--{n}" for n in (option.name, other)]
                raise UsageError(f"{' and '.join(names)} cannot be combined; leave one out")

    @classmethod
    def of_graph(cls, kind: str, graph: NetworkxTopology, values: Mapping[str, Any]) -> Experiment:
        """Returns an experiment on a networkx graph; its results include the graph as a file.

        Args:
            kind: kind of the experiment.
            graph: the graph.
            values: option -> value of the other options.

        Raises:
            UsageError: like the constructor.
        """
        return cls(kind, {TOPOLOGY: graph.name, GRAPH_OPTION: graph.file_name, **values}, graph=graph)

    @classmethod
    def from_toml(cls, path: str | Path) -> Experiment:
        """Returns the experiment of a file; paths of input files in it are relative to its folder.

        Raises:
            UsageError: the file cannot be read, is not TOML, or does not describe an experiment; for an
                unknown key, the message suggests the most similar one.
        """
        from experiments.spec.files.experiment_file import read_experiment

        return read_experiment(Path(path))

    def to_toml(self) -> str:
        """Returns the experiment as text that `from_toml` reads, with absolute paths of input files."""
        from experiments.spec.files.experiment_file import experiment_text

        return experiment_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Returns the content of an experiment file: version, kind, and table -> key -> value."""
        from experiments.spec.files.experiment_file import experiment_content

        return experiment_content(self)

    def overridden(self, values: Mapping[str, Any], kind: str | None = None) -> Experiment:
        """Returns a copy with some values replaced, without values that no longer apply.

        Args:
            values: option -> value, like those of the constructor.
            kind: kind of the new experiment, by default the same; options that it lacks are dropped.

        Raises:
            UsageError: like the constructor.
        """
        kind = kind or self.kind
        new = by_option(values)
        family = self.family if new.get(TOPOLOGY, self.family) == self.family else None
        declared = declared_kind(kind, {**self.values, **new})
        known = {option.name: option for option in options_of(declared, family)}
        merged = {name: value for name, value in self.values.items() if name in known} | new
        if kind == self.kind and declared != self.declared_kind:  # engines give one name different meanings
            before = options_of(self.declared_kind, family)
            same = {"out", _VARY, *(option.name for option in before if option in known.values())}
            merged = {name: value for name, value in merged.items() if name in new or name in same}
            if _VARY in merged and _VARY not in new:
                fits = [text for text in merged[_VARY] if varied_options([text]).keys() <= same]
                merged[_VARY] = tuple(fits)
        if _VARY in known and _VARY in new:
            texts: Any = known[_VARY].accept(new[_VARY])
            varied = varied_options(texts)
            merged = {name: value for name, value in merged.items() if name in new or name not in varied}
        elif _VARY in merged:
            kept = [text for text in merged[_VARY] if not new.keys() & varied_options([text]).keys()]
            merged[_VARY] = tuple(kept)
        applies = _applicable(kind, merged)
        foreign = {name for name in set(merged) - set(new) if not applies(known[name])}
        merged = {name: value for name, value in merged.items() if name not in foreign}
        graph = None if new.keys() & {TOPOLOGY, GRAPH_OPTION} else self.graph
        source = self.source and self.source.without(new)
        return Experiment(kind, merged, source, graph, self.settled, self.measured)

    @contextlib.contextmanager
    def _located(self, given: Collection[str], *, whole: bool = True) -> Iterator[None]:
        """Adds file, line and key to errors raised in the block, if the experiment is from a file."""
        try:
            yield
        except UsageError as error:
            if self.source is None:
                raise
            raise self.source.located(error, given, self.input_files, whole=whole) from None

    @property
    def input_files(self) -> dict[str, tuple[str, ...]]:
        """Option -> its input files, for options that name any."""
        found = {
            option.name: option.files_named(self.values.get(option.name))
            for option in options_of(self.declared_kind, self.values.get(TOPOLOGY))
            if option.name != "out" and not (option.name == GRAPH_OPTION and self.graph is not None)
        }
        return {name: paths for name, paths in found.items() if paths}

    @cached_property
    def inputs(self) -> Digests:
        """Input file -> SHA-256 of its content; raises ParameterError if it changed since the measurement."""
        found = digests_of(self._input_paths)
        remedy = "give the experiment anew to use the new file"
        check_unchanged(found, self.measured, "the experiment ran", remedy)
        return found

    @property
    def _input_paths(self) -> list[str]:
        return [path for paths in self.input_files.values() for path in paths]

    def _reading_inputs(self) -> contextlib.AbstractContextManager[None]:
        """Returns a context in which reading an input file fails if its content differs from `inputs`."""
        digests = {**dict.fromkeys(self._input_paths, ""), **self.inputs}  # "": it could not be read
        return expecting(digests, "the experiment began", "begin another one")

    def errors_located(self) -> contextlib.AbstractContextManager[None]:
        """Returns a context that adds line and key to errors about values of the experiment's file."""
        return self._located(self.values, whole=False)

    @cached_property
    def _varied(self) -> Mapping[str, str]:
        """Option -> its key in --vary, for options that a sweep varies."""
        return varied_options(self.values.get(_VARY, ()))

    @property
    def declared_kind(self) -> str:
        """The name under which the kind's options are declared; for a sweep, it depends on the engine."""
        return declared_kind(self.kind, self.values)

    @property
    def family(self) -> str:
        """The family of the topology."""
        return str(self.values[TOPOLOGY])

    @cached_property
    def params(self) -> dict[str, Value]:
        """The given parameters of the topology, by the names of the family's constructor.

        A networkx graph has the parameter `from`: the name of its file in the folder of results.
        """
        if self.graph is not None:
            return {GRAPH_OPTION: self.graph.file_name}
        return {o.setting: self.values[o.name] for o in family_options(self.family) if o.name in self.values}

    @cached_property
    def topology(self) -> Topology:
        """The graph of the routers.

        Raises:
            UsageError: a parameter is missing or outside its domain.
        """
        if self.graph is not None:
            return self.graph
        from topology.registry import make_topology

        with self._located(self.values), self._reading_inputs():
            for option in family_options(self.family) if self.source else ():
                if option.required and option.name not in self.values:
                    raise ParameterError(
                        f"[{TOPOLOGY}] must have {option.setting}, {option.domain}, got none"
                    )
            return make_topology(self.family, self.params)

    @property
    def traffic_kind(self) -> str:
        """The kind of the traffic, one of TRAFFIC_KINDS."""
        return traffic_kind(self.kind, self.values)

    @property
    def _measures_packets(self) -> bool:
        return self.kind in (RUN, SWEEP, *SIMULATED) and self.traffic_kind == PACKETS

    @property
    def out(self) -> Path | None:
        """The requested output directory, if any."""
        return Path(self.values["out"]) if "out" in self.values else None

    def folder(self, resolved: Specification, out: str | os.PathLike[str] | None = None) -> Path:
        """Returns the output directory; by default, it is in `results` and named after experiment and time.

        Args:
            resolved: the experiment's typed specifications.
            out: directory that overrides `--out`.
        """
        from experiments.spec.resolve import default_folder

        return Path(out) if out is not None else self.out or default_folder(resolved)

    @cached_property
    def options(self) -> tuple[Option, ...]:
        """The options that apply, in the order of their declarations."""
        applies = _applicable(self.kind, self.values)
        return tuple(filter(applies, options_of(self.declared_kind, self.family)))

    @cached_property
    def complete_values(self) -> Mapping[str, Any]:
        """Option -> value, including defaults."""
        settled = {name: value for name, value in self.settled.items() if name not in self._varied}
        values, kind = {**settled, **self.values}, self.declared_kind
        for option in self.options:
            if option.name not in {*values, *self._varied} and option.table != TOPOLOGY:
                default = option.derived(self, values) if option.derived else option.default_for(kind)
                if default is not None:
                    values[option.name] = default
        return values

    @property
    def complete(self) -> Experiment:
        """A copy of the experiment with explicit values of all defaults."""
        return Experiment(self.kind, self.complete_values, self.source, self.graph)

    def resolve(self) -> Specification:
        """Returns the typed specifications of the experiment; input files are read only once.

        Raises:
            UsageError: the options do not fit this fabric, or an input file is invalid.
            MachineError: the kernel lacks the congestion control of flows.
        """
        return self._specification

    @cached_property
    def _specification(self) -> Specification:
        from experiments.spec.resolve import specification

        with self._located(self.values), self._reading_inputs():
            return specification(self)

    def _foreign(self, option: Option) -> str:
        if option.when:
            other, value = option.when
            given = f"--{_VARY} {option.name}" if option.name in self._varied else f"--{option.name}"
            return f"{given} needs --{other} {value}; give that, or leave out {given}"
        now = TRAFFIC_KINDS[self.traffic_kind]
        if PACKETS not in option.kinds:
            home = next(one for name, one in TRAFFIC_KINDS.items() if name in option.kinds)
            other = now.title
            if self.traffic_kind in (PACKETS, COLLECTIVE):
                other = f"--pattern {self.values['pattern']}" if "pattern" in self.values else ""
            besides = f", not for {other}" if other else ""
            return f"--{option.name} is for {home.title}{besides}; give {home.asked}"
        return f"--{option.name} does not apply to {now.title} ({now.asked}); {now.remedy}"


def by_option(values: Mapping[str, Any]) -> dict[str, Any]:
    """Converts Python names of options to option names, and leaves out options that are None.

    Args:
        values: option, or its Python name (`link_rate`, `from_`) -> value.
    """
    return {name.rstrip("_").replace("_", "-"): v for name, v in values.items() if v is not None}


def _applicable(kind: str, values: Mapping[str, Given]) -> Callable[[Option], bool]:
    """Returns a function that says whether an option applies to an experiment with this kind and values."""
    declared, traffic = declared_kind(kind, values), traffic_kind(kind, values)

    def applies(option: Option) -> bool:
        if option.when:
            other, value = option.when
            return values.get(other, option_of(other, declared).default_for(declared)) == value
        return kind not in (RUN, SIMULATE) or not option.kinds or traffic in option.kinds

    return applies


def traffic_kind(kind: str, values: Mapping[str, Given]) -> str:
    """Returns the kind of traffic that options select.

    Args:
        kind: kind of the experiment.
        values: option -> value.
    """
    pattern = str(values.get("pattern", ""))
    if kind == SIMULATE:
        from traffic.workload.applications import is_application

        return TRACE if "trace" in values else COLLECTIVE if is_application(pattern) else PACKETS
    if kind != RUN:
        return PACKETS
    if "flow-file" in values:
        return REPLAY
    if "flow-sizes" in values:
        return FLOWS
    programs = values.get("exec") or "exec-file" in values
    if programs and "pattern" not in values and "load" not in values:
        return PROGRAMS
    from traffic.workload.collectives.registry import is_collective

    return COLLECTIVE if is_collective(pattern) else PACKETS


def _unknown(name: str, kind: str, family: str, declared: Mapping[str, Option]) -> str:
    """Returns the error message, with a remedy, for an option that a kind of experiment does not have.

    The text names the option as a Python argument. An option of another engine or family is named as on the
    command line.
    """
    given, taker = keyword(name), "Fabric" if kind == UP else kind
    engines = {engine: declared_kind(kind, {ENGINE: engine}) for engine in ENGINES}
    for engine, other in engines.items():
        if kind == SWEEP and name in {option.name for option in options_of(other)}:
            return f"--{name} is for --{ENGINE} {engine} only; leave it out"
    elsewhere = sorted(kind for kind in KINDS if name in {option.name for option in options_of(kind)})
    if elsewhere:
        return f"{given} is not an argument of {taker}, but of {', '.join(elsewhere)}"
    own = [f"--{option.name}" for option in family_options(family)]  # command lines get here with --again
    if any(option.name == name for other in FAMILIES.loaded() for option in family_options(other)):
        return f"parameter of {family} must be {one_of(own)}, got --{name}"
    return f"{taker} has no argument {given!r}{hint(given, map(keyword, declared))}"


def keyword(name: str) -> str:
    """Returns the Python name of an option: `link_rate` for `link-rate`, `from_` for `from`."""
    words = name.replace("-", "_")
    return f"{words}_" if iskeyword(words) else words

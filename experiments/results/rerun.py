"""Reconstruction of an experiment from its results, including values that the run itself determined."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from experiments.codec import read_record
from experiments.doctor.default_rate import MAX_BPS
from experiments.results.open import Sweep
from experiments.results.run_directory import FAULTS, MANIFEST, SUMMARY, holds_graph, read_graph, seed_folder
from experiments.results.sweep_points import point_summary
from experiments.spec.experiment import GRAPH_OPTION, Experiment, traffic_kind
from experiments.spec.files.experiment_file import experiment_of, given_by
from experiments.spec.files.inputs import INPUTS, digests_by_path, kept_digests
from experiments.spec.option import Option
from experiments.spec.options import (
    AUTO_RATE,
    ENGINE,
    FAILOVER,
    RULE_RATE,
    RUN,
    SIMULATION,
    STEADY,
    SWEEP,
    TOPOLOGY,
    options_of,
)
from experiments.spec.programs import NOT_GENERATED, SESSION
from topology.errors import ParameterError, UsageError
from topology.files.foreign import Foreign, foreign_file
from topology.files.reading import MIB, RESULT_BYTES, FileError
from topology.links import rate_text
from topology.parameters import Value
from topology.registry import family

_MAX_SUMMARIES = 100_000


@dataclass(frozen=True)
class _Settings:
    """Expected types of the entries of manifests and summaries that this module reads directly.

    All other entries are checked as values of options.
    """

    name: str
    link_rate_bps: int | None = None
    params: Mapping[str, Value] = field(default_factory=dict)
    elements: Sequence[str] | None = None
    traffic: Mapping[str, Any] = field(default_factory=dict)
    sweep: Mapping[str, Any] = field(default_factory=dict)
    experiment: Mapping[str, Any] = field(default_factory=dict)
    warmup_s: float | None = None


@dataclass(frozen=True)
class _Window:
    """The entry of summaries that this module needs."""

    warmup_s: float | None = None


def experiment_to_rerun(folder: Path) -> Experiment:
    """Returns the experiment that produced a folder of results, so that it can be repeated.

    `--link-rate auto` is replaced by the rate that it found, `--warmup steady` by the start of the window
    (the latest of several runs), and the fault schedule and networkx graph by their copies in the folder.
    Resolving the experiment raises UsageError if another of its input files has changed.

    Args:
        folder: folder of a run, a sweep or a failover.

    Raises:
        UsageError: the folder does not contain results of an experiment.
    """
    path = folder / MANIFEST
    content, foreign = _read(path)
    if "experiment" in content:
        kept = {table: entries for table, entries in content["experiment"].items() if table != INPUTS}
        experiment = experiment_of(kept, str(path), folder)
        files = [file for files in experiment.input_files.values() for file in files]
        measured = digests_by_path(kept_digests(content["experiment"]), files)
        experiment = replace(experiment, measured=measured)
    else:
        experiment = _from_settings(content, path)
    values: dict[str, Any] = {}
    if experiment.values.get("link-rate") == AUTO_RATE:
        values["link-rate"] = _rate_text(content)
    if experiment.values.get("warmup") == STEADY:
        settled_s = _settled_s(folder, experiment)
        if settled_s is not None:  # None: no run was completed, so keep waiting for a steady state
            values["warmup"] = settled_s
    if "faults" in experiment.values and (folder / FAULTS).exists():
        values["faults"] = str(folder / FAULTS)
    complete = _with_graph(experiment.overridden(values), folder)
    return complete if foreign is None else given_by(foreign, complete)


def at_held_rate(experiment: Experiment, folder: Path) -> Experiment:
    """Returns a sweep; its default link rate becomes that of the points in its folder.

    The usual default depends on the machine and on the highest load, but all points of a sweep must have the
    same rate. Folders that version 0.2.0 wrote at its default rate can be resumed, too.

    Args:
        experiment: the sweep.
        folder: its folder, which may be empty, missing, or contain something else.
    """
    try:
        held = Sweep(folder).manifest.sweep
    except ParameterError:  # nothing to resume; other problems are reported when the folder is written
        return experiment
    by_rule = held.link_rate_from == RULE_RATE
    if by_rule or (held.link_rate_from is None and held.link_rate_bps == MAX_BPS):
        return replace(experiment, settled={"link-rate": rate_text(held.link_rate_bps)})
    return experiment


def _with_graph(experiment: Experiment, folder: Path) -> Experiment:
    """Returns the experiment with its networkx graph, if the folder of results contains it.

    New results of the experiment will then include the graph, too.
    """
    path = Path(str(experiment.values.get(GRAPH_OPTION, "")))
    if path.parent != folder or not holds_graph(path.name):
        return experiment
    return replace(experiment, graph=read_graph(path))


def _read(path: Path) -> tuple[dict[str, Any], Foreign | None]:
    """Returns the content of a manifest, and a description of its file if another user can change it."""
    judged: list[Foreign | None] = []
    content = read_record(
        path, dict[str, Any], opened=lambda descriptor: judged.append(foreign_file(path, descriptor))
    )
    _check(content, path)
    return content, judged[0]


def _check(content: Mapping[str, Any], path: Path) -> None:
    """Raises ParameterError if settings of a file have wrong types."""
    import msgspec  # imported only to read results

    try:
        msgspec.convert(content, _Settings)
    except msgspec.ValidationError as error:
        raise ParameterError(f"{path} is damaged or not from PolarLab: {error}") from None


def _rate_text(settings: Mapping[str, Any]) -> str:
    """Returns the link rate in a manifest's settings as an option's text; ParameterError if it is missing."""
    if settings.get("link_rate_bps") is None:
        raise ParameterError("link_rate_bps must be a rate in bit/s, got none")
    return rate_text(settings["link_rate_bps"])


def _settled_s(folder: Path, experiment: Experiment) -> float | None:
    """Returns the latest start of a measurement window in a folder's summaries, in s; None without any.

    Another user may own the folder, so only summaries are read that the experiment and its table of points
    name, one by one, up to a number and a total size.
    """
    latest, left = None, RESULT_BYTES

    def count(descriptor: int) -> None:
        nonlocal left
        left -= os.fstat(descriptor).st_size
        if left < 0:
            raise ParameterError(
                f"summaries in {folder} must be at most {RESULT_BYTES // MIB} MiB long in total"
            )

    for number, name in enumerate(_summaries(folder, experiment)):
        if number == _MAX_SUMMARIES:
            raise ParameterError(f"{folder} must have at most {_MAX_SUMMARIES} summaries; give --warmup")
        try:  # `exists` would follow another user's links with root's rights
            start_s = read_record(folder / name, _Window, opened=count).warmup_s
        except FileError as error:
            if not error.missing:
                raise
            continue
        latest = latest if start_s is None else max(start_s, latest or 0.0)
    return latest


def _summaries(folder: Path, experiment: Experiment) -> Iterator[str]:
    """Yields the names of the summaries that the results of an experiment may have."""
    values = experiment.complete.values
    seeds = range(values["seed"], values["seed"] + (values.get("repeat") or 1))
    yield SUMMARY
    if experiment.kind == SWEEP and values.get(ENGINE) == SIMULATION:
        return  # cycles instead of seconds: the window of a repetition is searched anew
    if experiment.kind == SWEEP:
        for point in Sweep(folder).kept():
            yield from (point_summary(point, seed) for seed in (None, *seeds))
    else:
        yield from (f"{seed_folder(seed)}/{SUMMARY}" for seed in seeds)


def _from_settings(content: Mapping[str, Any], path: Path) -> Experiment:
    """Returns the experiment of an older version's manifest, which has settings but no table `experiment`."""
    settings = {**content, **content.get("traffic", {}), **content.get("sweep", {})}
    _check(settings, path)
    kind = SWEEP if "sweep" in content else FAILOVER if "fail_s" in settings else RUN
    pattern = settings.get("pattern")
    if pattern == SESSION:
        raise UsageError(f"{path.parent} is a session at the prompt, which cannot be repeated")
    try:
        family(str(content["name"]))
        values = {TOPOLOGY: content["name"]}
        declared = options_of(kind, str(content["name"]))
        for option in declared:
            value = _setting(option, settings)
            if value is not None:
                values[option.name] = value
        if pattern in NOT_GENERATED or "flow-file" in values:
            values = {name: value for name, value in values.items() if name not in ("pattern", "load")}
        kinds = {option.name: option.kinds for option in declared}
        traffic = traffic_kind(kind, values)
        applying = {n: v for n, v in values.items() if not kinds.get(n) or traffic in kinds[n]}
        return Experiment(kind, applying)
    except UsageError as error:
        raise type(error)(f"{path}: {error}") from None


def _setting(option: Option, settings: Mapping[str, Any]) -> Any:
    """Returns the value of an option from the settings of results; None if they lack it."""
    value = settings.get("params", {}).get(option.setting) if option.table == TOPOLOGY else None
    if option.name == TOPOLOGY:
        return settings["name"]
    if value is None and option.table != TOPOLOGY:
        value = settings.get(option.setting or option.key)
    if option.name == "link-rate":
        return _rate_text(settings)
    if option.name == "warmup" and settings.get("steady"):
        return STEADY
    if option.name == "faults":
        return settings.get("faults_asked") or (FAULTS if value else None)
    if option.name == "fail":
        return value or ",".join(settings.get("elements") or ()) or None
    return value

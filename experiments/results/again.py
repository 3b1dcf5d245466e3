"""Experiments of results, to be measured again: as their manifests say, with what was settled on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from experiments.codec import read_record
from experiments.doctor.default_rate import MOST_BPS
from experiments.results.open import Sweep
from experiments.results.run_directory import FAULTS, MANIFEST, SUMMARY, holds_graph, read_graph
from experiments.spec.experiment import GRAPH_OPTION, Experiment, traffic_kind
from experiments.spec.files.experiment_file import experiment_of, given_by
from experiments.spec.option import Option
from experiments.spec.options import (
    AUTO_RATE,
    FAILOVER,
    RULE_RATE,
    RUN,
    STEADY,
    SWEEP,
    TOPOLOGY,
    options_of,
)
from experiments.spec.programs import NOT_GENERATED, SESSION
from topology.errors import ParameterError, UsageError
from topology.files.foreign import Foreign, foreign_file
from topology.links import rate_text
from topology.parameters import Value
from topology.registry import family


@dataclass(frozen=True)
class _Settings:
    """Types that some entries of manifests have, and of summaries; options check the others."""

    name: str
    link_rate_bps: int | None = None
    params: Mapping[str, Value] = field(default_factory=dict)
    elements: Sequence[str] | None = None
    traffic: Mapping[str, Any] = field(default_factory=dict)
    sweep: Mapping[str, Any] = field(default_factory=dict)
    experiment: Mapping[str, Any] = field(default_factory=dict)
    warmup_s: float | None = None


def experiment_again(folder: Path) -> Experiment:
    """Returns the experiment of a folder of results, so that it is measured again as it was.

    The rate that `--link-rate auto` found and the time at which `--warmup steady` began the window (of
    several runs the latest) stand in their places, and the schedule of faults that the folder holds in that
    of the file that it was read from. A graph of networkx is that of the file in the folder.

    Args:
        folder: folder of a run, a sweep or a failover.

    Raises:
        UsageError: the folder does not hold the results of an experiment.
    """
    path = folder / MANIFEST
    content, foreign = _read(path)
    if "experiment" in content:
        experiment = experiment_of(content["experiment"], str(path), folder)
    else:
        experiment = _from_settings(content, path)
    values: dict[str, Any] = {}
    if experiment.values.get("link-rate") == AUTO_RATE:
        values["link-rate"] = _rate_text(content)
    if experiment.values.get("warmup") == STEADY:
        begun_s = _settled_s(folder)
        if begun_s is not None:  # else nothing was measured to its end, and throughput has to settle anew
            values["warmup"] = begun_s
    if "faults" in experiment.values and (folder / FAULTS).exists():
        values["faults"] = str(folder / FAULTS)
    complete = _with_graph(experiment.overridden(values), folder)
    return complete if foreign is None else given_by(foreign, complete)


def at_held_rate(experiment: Experiment, folder: Path) -> Experiment:
    """Returns a sweep at the link rate of the points that its folder holds, unless it gives a rate itself.

    The default depends on the machine and on the highest load, but all points of a sweep have one rate. A
    folder that version 0.2.0 wrote at its default resumes as well.

    Args:
        experiment: the sweep.
        folder: its folder, which may be empty, missing, or hold something else.
    """
    try:
        held = Sweep(folder).manifest.sweep
    except ParameterError:  # nothing to resume; what is wrong with it is reported when it is written
        return experiment
    by_rule = held.link_rate_from == RULE_RATE
    if by_rule or (held.link_rate_from is None and held.link_rate_bps == MOST_BPS):
        return replace(experiment, settled={"link-rate": rate_text(held.link_rate_bps)})
    return experiment


def _with_graph(experiment: Experiment, folder: Path) -> Experiment:
    """Returns an experiment with the graph that a folder of results holds, if it is that of the experiment.

    Results of the experiment will hold the graph as well.
    """
    path = Path(str(experiment.values.get(GRAPH_OPTION, "")))
    if path.parent != folder or not holds_graph(path.name):
        return experiment
    return replace(experiment, graph=read_graph(path))


def _read(path: Path) -> tuple[dict[str, Any], Foreign | None]:
    """Returns the content of a manifest, and its file as another user's if it is one."""
    judged: list[Foreign | None] = []
    content = read_record(
        path, dict[str, Any], opened=lambda descriptor: judged.append(foreign_file(path, descriptor))
    )
    _check(content, path)
    return content, judged[0]


def _check(content: Mapping[str, Any], path: Path) -> None:
    """Raises ParameterError if settings of a file have other types than they must."""
    import msgspec  # only where results are read

    try:
        msgspec.convert(content, _Settings)
    except msgspec.ValidationError as error:
        raise ParameterError(f"{path} is damaged or not of PolarLab: {error}") from None


def _rate_text(settings: Mapping[str, Any]) -> str:
    """Returns the link rate among settings; raises ParameterError if they have none."""
    if settings.get("link_rate_bps") is None:
        raise ParameterError("link_rate_bps must be a rate in bit/s, got none")
    return rate_text(settings["link_rate_bps"])


def _settled_s(folder: Path) -> float | None:
    """Returns the time at which all measured windows in a folder had begun; None without any."""
    paths = [folder / SUMMARY, *folder.glob(f"*/{SUMMARY}"), *folder.glob("points/*.json")]
    summaries = [read_record(path, _Settings) for path in paths if path.exists()]
    begun = [summary.warmup_s for summary in summaries if summary.warmup_s is not None]
    return max(begun, default=None)


def _from_settings(content: Mapping[str, Any], path: Path) -> Experiment:
    """Returns the experiment of a manifest from before manifests held it, by its settings."""
    settings = {**content, **content.get("traffic", {}), **content.get("sweep", {})}
    _check(settings, path)
    kind = SWEEP if "sweep" in content else FAILOVER if "fail_s" in settings else RUN
    pattern = settings.get("pattern")
    if pattern == SESSION:
        raise UsageError(f"{path.parent} is a session at the prompt, which cannot be measured again")
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
    """Returns the value of an option among the settings of results; None where they do not have it."""
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

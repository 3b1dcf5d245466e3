"""Requests: builds experiments from the arguments of Python functions, and checks them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.results.kinds import Results, folder_of
from experiments.results.tables import reporting_corruption
from experiments.spec.experiment import Experiment, by_option
from experiments.spec.files.approval import Demands, approved
from experiments.spec.files.command_request import command_request
from experiments.spec.options import KINDS, RUN, SWEEP, TOPOLOGY, UP, noun_of, options_of
from experiments.spec.values import dated_folder
from polarlab.api.arguments import checked_topology
from polarlab.api.keywords import OF_TRAFFIC
from topology.base import Topology
from topology.errors import ParameterError, UsageError
from topology.files.reading import check_unchanged
from topology.networkx_graphs import NetworkxTopology
from topology.registry import FAMILIES

Folder = str | os.PathLike[str]
Subject = Folder | Topology | Experiment | Results

_FILE, _RUN_PROGRAMS = ".toml", "run_programs"


def request_of(
    kind: str,
    subject: Subject | None,
    options: Mapping[str, Any],
    *,
    again: Folder | Results | None = None,
    out: Folder | None = None,
) -> Experiment:
    """Returns the requested experiment.

    Args:
        kind: kind of the experiment, or another command with a topology, such as `up`.
        subject: family or graph of the topology; experiment, its file (.toml), its results, or their
            folder. None if the kind has a default, or with `again`.
        options: options by name, with underscores or hyphens. `run_programs` says whether root may run
            programs, read files and write folders that files of other users name.
        again: results to measure again, or their folder, instead of `subject`.
        out: folder of the results; None for a new one.

    Raises:
        UsageError: an option does not exist or is outside its domain, an experiment is of another kind, or
            another user's file names programs or other files, without `run_programs`.
    """
    others, approves = _approval(options)
    return approved(_request(kind, subject, others, again, out), approves)


def _approval(options: Mapping[str, Any]) -> tuple[dict[str, Any], Callable[[Demands], bool]]:
    """Returns the options except `run_programs`, and a function for `approved` that returns that option."""
    others = {name: value for name, value in options.items() if name != _RUN_PROGRAMS}
    run_programs = options.get(_RUN_PROGRAMS, False)
    if not isinstance(run_programs, bool):
        raise ParameterError(f"{_RUN_PROGRAMS} must be True or False, got {run_programs!r}")
    return others, lambda _demands: run_programs


def _request(
    kind: str,
    subject: Subject | None,
    options: Mapping[str, Any],
    again: Folder | Results | None,
    out: Folder | None,
) -> Experiment:
    """Returns the experiment that arguments of `request_of` describe, before any check of its approval."""
    if again is not None:
        if subject is not None:
            raise UsageError(f"again uses the topology of its results; leave {subject!r} out")
        subject = rerun_of(again)
    base = _experiment(subject)
    if out is not None and (base is None or options or base.out not in (None, Path(out))):
        options = {**options, "out": Path(out)}
    if base is None:
        return _of_topology(kind, subject, options)
    if kind in KINDS and base.kind in KINDS and base.kind != kind:
        raise UsageError(
            f"experiment must be a {noun_of(kind)}, got a {noun_of(base.kind)}; use polarlab.{base.kind}"
        )
    request = command_request(base, kind, options)
    if request.note and kind != UP:  # which callers of Fabric expect
        warnings.warn(request.note, stacklevel=4)
    return request.experiment


def rerun_of(results: Folder | Results) -> Experiment:
    """Returns the experiment of results, to measure it again; a sweep gets a new folder and does not resume.

    Args:
        results: results of a run, a simulation, a sweep or failovers, or their folder.

    Raises:
        UsageError: the folder does not have the results of an experiment.
    """
    from experiments.results.rerun import experiment_to_rerun

    folder = folder_of(results)
    with reporting_corruption(folder):
        experiment = experiment_to_rerun(folder)
    if experiment.kind == SWEEP:
        return experiment.overridden({"out": dated_folder(folder.resolve().name, "again")})
    return experiment


def _experiment(subject: Subject | None) -> Experiment | None:
    """Returns the experiment that a subject is or names (object, file, results); None for a topology."""
    if isinstance(subject, Experiment):
        return subject
    if isinstance(subject, Results):
        return rerun_of(subject)
    if not isinstance(subject, str | os.PathLike) or subject in FAMILIES:
        return None
    path = Path(subject)
    if path.suffix == _FILE and not path.is_dir():
        return Experiment.from_toml(path)
    named = isinstance(subject, os.PathLike) or len(path.parts) > 1  # a path, not a mistyped family
    return rerun_of(path) if named or path.is_dir() else None


def _of_topology(kind: str, subject: Any, options: Mapping[str, Any]) -> Experiment:
    if subject is None or isinstance(subject, str):
        return Experiment(kind, {TOPOLOGY: subject, **options})
    topology = checked_topology(subject)
    if topology.given_ports is not None:
        raise ParameterError(
            "topology must have its default ports, because results name only its family and parameters; "
            "leave with_ports out"
        )
    if isinstance(topology, NetworkxTopology):
        return Experiment.of_graph(kind, topology, options)
    return Experiment(kind, {TOPOLOGY: topology.name, **topology.params, **options})


def demonstration(fabric: Experiment, load: float) -> tuple[Experiment, float]:
    """Returns the request of a fabric that this machine can carry, and the load of the traffic on it.

    Args:
        fabric: request of the fabric.
        load: desired load, which determines the default rate of a fabric without a link rate. The returned
            load is lower if a given link rate is too high for the machine.
    """
    from experiments.doctor.default_rate import carried_load, default_of_fabric  # imports numpy

    request = replace(fabric, settled={"link-rate": default_of_fabric(fabric, load)})
    return request, carried_load(request, load)


def traffic_request(fabric: Experiment, options: Mapping[str, Any], routing: str | None = None) -> Experiment:
    """Returns the experiment of traffic on a fabric that is up.

    Args:
        fabric: request of the fabric.
        options: options of the traffic, of programs and of captures, and `run_programs` like `request_of`.
        routing: name of the routing, if its parameters have changed since the fabric was launched.

    Raises:
        UsageError: an option does not exist, belongs to the fabric, or is outside its domain; an input file
            has changed since the fabric came up; or `exec_file` is another user's, without
            `run_programs`.
    """
    options, approves = _approval(options)
    own = {option.name for option in options_of(UP, fabric.family)} - OF_TRAFFIC
    for name in by_option(options):
        if name in own:
            raise UsageError(f"{name} belongs to the fabric and cannot change while it is up; leave it out")
    given = {name: value for name, value in fabric.values.items() if name in own}
    if routing is not None:
        given["routing"] = routing
    settled = {"link-rate": fabric.complete_values["link-rate"]}  # instead of the default of `run`
    request = Experiment(RUN, {**given, **options}, graph=fabric.graph, settled=settled)
    check_unchanged(request.inputs, fabric.inputs, "the fabric came up", "start the fabric anew")
    return approved(request, approves)

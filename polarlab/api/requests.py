"""Requests: experiments from the arguments of Python's functions, checked and resolved."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.results.again import experiment_again
from experiments.results.open import Failover, Failovers, Run, Sweep
from experiments.spec.experiment import Experiment
from experiments.spec.options import KINDS, RUN, TOPOLOGY, UP, options_of
from experiments.spec.resolve import Specification
from experiments.spec.resolve import Sweep as SweepSpecification
from experiments.spec.values import dated_folder
from topology.base import Topology
from topology.errors import UsageError
from topology.networkx_graphs import NetworkxTopology

__all__ = ["Request", "Subject", "experiment_again", "request_of", "traffic_request"]

Subject = str | Path | Topology | Experiment | Run | Sweep | Failover | Failovers


@dataclass(frozen=True)
class Request:
    """An experiment, checked.

    Attributes:
        experiment: the experiment.
        graph: the graph that was given as an object, which has more than its file; None otherwise.
        out: folder of the results; None for that of the experiment.
    """

    experiment: Experiment
    graph: NetworkxTopology | None = None
    out: Path | None = None

    def folder(self, resolved: Specification) -> Path:
        """Returns the folder of the results.

        Args:
            resolved: the typed specifications.
        """
        return self.out or self.experiment.folder(resolved)

    def specification(self) -> Any:
        """Returns the typed specifications, with the graph that was given.

        Raises:
            UsageError: the options make no sense for this fabric, or a file that they name is wrong.
        """
        found = self.experiment.resolve()
        if self.graph is None:
            return found
        if isinstance(found, SweepSpecification):
            points = [replace(one, fabric=replace(one.fabric, topology=self.graph)) for one in found.points]
            return replace(found, points=tuple(points))
        return replace(found, fabric=replace(found.fabric, topology=self.graph))


def request_of(
    kind: str, subject: Subject, options: Mapping[str, Any], out: Path | str | None = None
) -> Request:
    """Returns a request.

    Args:
        kind: kind of the experiment, or `up`.
        subject: family or graph of the topology, experiment, file of one (.toml), or results of one.
        options: options by their names, with underscores or hyphens.
        out: folder of the results; None for a new one.

    Raises:
        UsageError: an option does not exist or is outside its domain, or an experiment is of another kind.
    """
    if isinstance(subject, Run | Sweep | Failover | Failovers):
        subject = experiment_again(subject.folder)
    if isinstance(subject, Path) or (isinstance(subject, str) and subject.endswith(".toml")):
        subject = Experiment.from_toml(subject)
    folder = None if out is None else Path(out)
    if isinstance(subject, NetworkxTopology):
        return _of_graph(kind, subject, options, folder)
    if isinstance(subject, Experiment):
        if subject.kind in KINDS and subject.kind != kind:
            raise UsageError(f"experiment must be of the kind {kind}, got {subject.kind}")
        same = subject.kind == kind and not options
        return Request(subject if same else subject.overridden(options, kind), out=folder)
    if isinstance(subject, Topology):
        options = {TOPOLOGY: subject.name, **subject.params, **options}
    else:
        options = {TOPOLOGY: subject, **options}
    return Request(Experiment(kind, options), out=folder)


def _of_graph(kind: str, graph: NetworkxTopology, options: Mapping[str, Any], out: Path | None) -> Request:
    """Returns the request for a graph of networkx, whose file the controller's process reads.

    The file of an experiment stands beside its results, so that it can be run again; that of a fabric is
    temporary, and goes with the graph.
    """
    import networkx as nx

    if kind == UP:
        folder = tempfile.mkdtemp(prefix="polarlab-graph-")
        weakref.finalize(graph, shutil.rmtree, folder, ignore_errors=True)
        path = Path(folder) / "graph.graphml"
        nx.write_graphml(graph.to_networkx(), path)
        return Request(Experiment(kind, {TOPOLOGY: graph.name, "from": path, **options}), graph)
    out = out or dated_folder("graph", graph.routers, kind)
    path = out.with_name(f"{out.name}.graphml")
    path.parent.mkdir(parents=True, exist_ok=True)
    nx.write_graphml(graph.to_networkx(), path)
    try:
        request = Request(Experiment(kind, {TOPOLOGY: graph.name, "from": path, **options}), graph, out=out)
        request.specification()
    except BaseException:
        path.unlink()
        raise
    return request


def traffic_request(fabric: Request, options: Mapping[str, Any]) -> Request:
    """Returns the request for traffic on a fabric that is up.

    Args:
        fabric: request of the fabric.
        options: options of the traffic, of programs and of captures.

    Raises:
        UsageError: an option does not exist, is the fabric's, or is outside its domain.
    """
    own = {option.name for option in options_of(UP, fabric.experiment.family)} - {"out", "pcap"}
    for name in options:
        if name.rstrip("_").replace("_", "-") in own:
            raise UsageError(f"{name} is the fabric's, and cannot be changed while it is up; leave it out")
    given = {name: value for name, value in fabric.experiment.values.items() if name in own}
    return Request(Experiment(RUN, {**given, **options}), fabric.graph)

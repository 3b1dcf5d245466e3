"""Digests of simulated points, over everything that determines a point's numbers.

The numbers depend on the network, the routing, the routers' settings, the decision law and the failed links
(if any), the traffic, and the code of the simulator and of the point's own routing. Code that is moved or
rewritten gets another digest, although its numbers need not change. Therefore `kept_code.csv` maps today's
digest of each part of the code to the digest under which points were kept. `make digests` updates this file
if small simulations still produce the same numbers.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import msgspec

from experiments.papers.performance.model import Curve
from experiments.simulation.code_version import logic_digest, module_digest
from experiments.spec.fabric import FabricOptions
from experiments.spec.simulation.applications import SimulatedApplication
from experiments.spec.simulation.model import SimulatedTraffic
from routing.registry import routing as routing_of
from topology.base import Topology

KEPT_CODE = "kept_code.csv"
# Names of parts of the code. The other parts are routings, each under its own name.
SIMULATOR, FAILURES, APPLICATIONS = "simulator", "failures", "applications"
_PACKAGES = ("simulation", "traffic/workload", "routing")
_ALGORITHMS = "routing/algorithms"
_JUDGING = ("routing/deadlock", "routing/verification")  # this code only proves properties of plans
# Files and folders of code on which only points with failures depend.
_OF_FAILURES = ("simulation/faults.py", "simulation/kernels/failures.py", "routing/replan")
_OF_APPLICATIONS = (
    "traffic/workload/collectives",
    "traffic/workload/motifs.py",
)  # code on which only applications depend


@dataclass(frozen=True)
class KeptCode:
    """A row of `kept_code.csv`: a part of the code that still produces the numbers of points kept earlier.

    Attributes:
        part: SIMULATOR, FAILURES, APPLICATIONS, or the name of a routing.
        today: digest of its code.
        kept: digest of its code when the points were kept.
        numbers: digest of the results of small simulations that depend on it.
    """

    part: str
    today: str
    kept: str
    numbers: str


@cache
def kept_code() -> Mapping[str, KeptCode]:
    """Returns name of a part of the code -> its row in `kept_code.csv`."""
    with files("experiments.papers").joinpath(KEPT_CODE).open(encoding="utf-8") as lines:
        return {row.part: row for row in msgspec.convert(list(csv.DictReader(lines)), list[KeptCode])}


def code_today(part: str) -> str:
    """Returns the current digest of a part of the code, 12 hexadecimal digits.

    Args:
        part: SIMULATOR, FAILURES, APPLICATIONS, or the name of a routing without parameters.
    """
    if part == SIMULATOR:
        return logic_digest(_PACKAGES, (*_JUDGING, *_OF_APPLICATIONS, *_OF_FAILURES, _ALGORITHMS))
    if part in (FAILURES, APPLICATIONS):
        return logic_digest(_OF_FAILURES if part == FAILURES else _OF_APPLICATIONS)
    return module_digest(routing_of(part).module, _ALGORITHMS.replace("/", "."))


@cache
def code_when_kept(part: str) -> str:
    """Returns the digest that stands for a part of the code in stored points.

    It stays the same as long as `kept_code.csv` says that today's code produces the same numbers.
    """
    today, row = code_today(part), kept_code().get(part)
    return row.kept if row is not None and row.today == today else today


def digest_of(curve: Curve, traffic: SimulatedTraffic) -> str:
    """Returns a digest of everything that determines a simulation's numbers, 16 hexadecimal digits.

    Args:
        curve: the curve.
        traffic: the traffic at one load and with one seed.
    """
    failures: list[object] = []
    if traffic.faults:  # otherwise left out, as points without failures must keep their older digests
        lines = [fault.line for fault in traffic.faults]
        failures = [lines, traffic.replan_cycles, code_when_kept(FAILURES)]
    parts = (
        *_fabric_parts(curve.fabric),
        *failures,
        traffic.pattern,
        traffic.load,
        traffic.arrivals,
        traffic.seed,
        sorted(vars(traffic.times).items()),
    )
    return _digest(parts)


def digest_of_application(fabric: FabricOptions, traffic: SimulatedApplication) -> str:
    """Returns a digest of everything that determines an application's time, 16 hexadecimal digits.

    Args:
        fabric: the network and its routing.
        traffic: the application.
    """
    return _digest((*_fabric_parts(fabric), code_when_kept(APPLICATIONS), sorted(vars(traffic).items())))


def _digest(parts: tuple[object, ...]) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _fabric_parts(fabric: FabricOptions) -> tuple[object, ...]:
    """Returns the values about code, network, routing and routers from which a point's digest is computed."""
    return (
        code_when_kept(SIMULATOR),
        code_when_kept(fabric.routing.partition(":")[0]),
        _graph_digest(fabric.name, fabric.topology),
        fabric.hosts,
        fabric.routing,
        sorted(vars(fabric.routers).items()),
        # Only if set, so that points without a decision kept their digests when decisions were added.
        *([fabric.decision] if fabric.decision is not None else []),
    )


@cache
def _graph_digest(family: str, graph: Topology) -> str:
    """Returns a digest of a network's links, minimal paths, groups of routers, and routers with hosts."""
    digest = hashlib.sha256(family.encode())
    digest.update(repr([link.ends for link in graph.link_list]).encode())
    digest.update(repr((graph.clusters().members, graph.host_counts(1).tolist())).encode())
    digest.update(graph.all_next_hops().tobytes())
    return digest.hexdigest()[:16]

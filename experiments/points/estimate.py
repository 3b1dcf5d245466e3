"""Estimates of a command's points, time and memory, before anything starts or is written."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from emulation.requirements import available_memory_bytes, fabric_memory_bytes
from experiments.events.base import duration, ignore
from experiments.results.open import Sweep
from experiments.simulation.fabric import MAX_PROVEN, prepare_fabric
from experiments.simulation.memory import plan_memory_bytes, simulation_memory_bytes
from experiments.simulation.task import task_of
from experiments.spec.fabric import FabricOptions
from experiments.spec.simulation.model import SimulatedTraffic
from experiments.spec.sweep import PointOptions, SweepOptions
from routing.registry import routing
from simulation.settings import Times
from topology.families.low_diameter.polarfly import PolarFly
from topology.shortest_paths import host_pairs_by_distance

_SETTLING_CYCLES = 5000  # typical length of a warm-up that ends at steady state
# Speed of planning in bytes of plans and tables per second, with and without the proof, measured on ER_7 to
# ER_31; and the least time of a plan in s.
_PROVEN_BYTES_PER_S, _PLANNED_BYTES_PER_S, _MIN_PLAN_S = 20e6, 100e6, 0.1
_DETOURED = 1.5  # typical ratio of hops to minimal hops for routings with detours
# Typical times in s with real switches: to bring up a fabric, per switch, per routing (controller and check
# of all pairs), per run in addition to its traffic, and to calibrate a link rate.
_UP_S, _SWITCH_S, _ROUTING_S, _RUN_S, _CALIBRATION_S = 5.0, 0.15, 5.0, 3.0, 60.0
SHORT_SIMULATION = "a short simulation of ER_7 on this machine, scaled by packet hops and routers"
KEPT_POINTS = "times of points of the same curves, and " + SHORT_SIMULATION
TRAFFIC_TIMES = "warm-ups and durations, and typical times of switches, controllers and checks"


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Estimated cost of a command.

    Attributes:
        points: number of requested points; an upper bound for searches of saturation.
        done: number of requested points that the output directory already has.
        missing: number of requested points that it does not have.
        seconds: estimated time until the end in s; None if it is not known.
        core_seconds: estimated time if one core did all the work, in s; None if it is not known, or for real
            packets.
        memory_bytes: estimated memory of the largest fabric.
        free_memory_bytes: available memory.
        basis: basis of the estimated time, in words.
    """

    points: int
    done: int
    missing: int
    seconds: float | None
    core_seconds: float | None
    memory_bytes: int
    free_memory_bytes: int
    basis: str

    def words(self) -> dict[str, str]:
        """Returns the values as readable text, under the same keys."""
        of_time = {
            key: "not known" if value is None else f"about {duration(value)}"
            for key, value in (("seconds", self.seconds), ("core_seconds", self.core_seconds))
        }
        of_memory = {
            key: f"about {value / 2**20:,.0f} MiB"
            for key, value in (
                ("memory_bytes", self.memory_bytes),
                ("free_memory_bytes", self.free_memory_bytes),
            )
        }
        return {key: str(value) for key, value in vars(self).items()} | of_time | of_memory


@dataclass(frozen=True)
class Work:
    """Missing simulations that share a plan.

    Attributes:
        fabric: specification of the fabric.
        traffic: traffic that represents all simulations, at their mean load; None if its length is not known
            in advance.
        count: number of simulations.
        seconds: time of one simulation in s, from similar points kept earlier; None if there are none.
    """

    fabric: FabricOptions
    traffic: SimulatedTraffic | None
    count: int
    seconds: float | None = None


def work_of(fabric: FabricOptions, traffic: Sequence[SimulatedTraffic]) -> Work:
    """Combines simulations that share a plan.

    Args:
        fabric: specification of the fabric.
        traffic: traffic of each simulation; all have about the same length.
    """
    if not traffic:
        return Work(fabric, None, 0)
    load = sum(one.load for one in traffic) / len(traffic)
    return Work(fabric, replace(traffic[0], load=load), len(traffic))


def estimate_simulations(works: Sequence[Work], points: int, missing: int, workers: int) -> Estimate:
    """Estimates the cost of simulations.

    Args:
        works: the simulations of each plan.
        points: number of requested points.
        missing: number of missing points.
        workers: number of processes that simulate at once.
    """
    works = [work for work in works if work.count]
    core_s: float | None = None
    if all(work.traffic or work.seconds for work in works):
        plans = {id(work.fabric): work.fabric for work in works}.values()
        core_s = sum(map(_plan_seconds, plans)) + sum(work.count * _seconds(work) for work in works)
    most = min(workers, max(1, sum(work.count for work in works)))
    return Estimate(
        points=points,
        done=points - missing,
        missing=missing,
        seconds=None if core_s is None else round(core_s / most, 1),
        core_seconds=None if core_s is None else round(core_s, 1),
        memory_bytes=max((simulation_memory_bytes(work.fabric) for work in works), default=0),
        free_memory_bytes=available_memory_bytes(),
        basis=KEPT_POINTS if any(work.seconds for work in works) else SHORT_SIMULATION,
    )


def _seconds(work: Work) -> float:
    if work.seconds is not None:
        return work.seconds
    assert work.traffic is not None
    return _hops(work.fabric, work.traffic) / _reference().hops_per_s


def _hops(fabric: FabricOptions, traffic: SimulatedTraffic) -> float:
    """Estimates the total number of hops that all packets of a simulation take, from host to host."""
    pairs = host_pairs_by_distance(fabric.topology)
    hops = sum(distance * count for distance, count in pairs.items()) / max(1, sum(pairs.values()))
    detoured = 1.0 if routing(fabric.routing).shortest else _DETOURED
    cycles = (traffic.times.warmup or _SETTLING_CYCLES) + traffic.times.window
    hosts = fabric.topology.endpoints(fabric.hosts)
    return cycles * hosts * traffic.load / fabric.routers.packet_flits * (1 + hops * detoured)


def _plan_seconds(fabric: FabricOptions) -> float:
    """Estimates the time in s to compute a plan, its proof and its tables, from the memory that they need."""
    usual, reference = (
        _MIN_PLAN_S
        + plan_memory_bytes(one) / (_PROVEN_BYTES_PER_S if _is_proven(one) else _PLANNED_BYTES_PER_S)
        for one in (fabric, _reference_fabric())
    )
    return usual * _reference().plan_s / reference


def _is_proven(fabric: FabricOptions) -> bool:
    return fabric.topology.routers <= MAX_PROVEN


@dataclass(frozen=True)
class _Speed:
    plan_s: float
    hops_per_s: float


def _reference_fabric() -> FabricOptions:
    return FabricOptions("polarfly", {"q": 7}, PolarFly(7), 4, "min")


@cache
def _reference() -> _Speed:
    """Measures how fast this machine plans and simulates a small fabric."""
    fabric = _reference_fabric()
    # Near saturation a hop takes the simulator up to twice as long.
    traffic = SimulatedTraffic("uniform", 0.9, times=Times(warmup=500, window=1000, most_drain=500))
    prepare_fabric(replace(fabric, topology=PolarFly(2), params={"q": 2}), ignore)  # loads modules
    began = time.process_time()  # independent of other load on the machine
    prepared = prepare_fabric(fabric, ignore)
    plan_s = time.process_time() - began
    task = task_of(fabric, traffic)
    task.run(prepared)  # loads the simulator's compiled code
    began = time.process_time()
    task.run(prepared)
    return _Speed(plan_s, _hops(fabric, traffic) / max(time.process_time() - began, 1e-6))


def estimate_measurements(points: Sequence[PointOptions], sweep: SweepOptions, folder: Path) -> Estimate:
    """Estimates the cost of a sweep of real packets.

    Args:
        points: specifications of all points.
        sweep: the sweep.
        folder: output directory; it need not exist.
    """
    held = Sweep(folder).kept()
    missing = [one for one in points if one.point not in held]
    first = points[0].fabric
    graph = first.topology
    hosts = graph.endpoints(first.hosts)
    seconds = 0.0
    if missing:
        fabrics = {(one.fabric.routing, repr(one.fabric.links)) for one in missing}
        seconds = _UP_S + graph.routers * _SWITCH_S + len(fabrics) * _ROUTING_S
        seconds += _CALIBRATION_S if first.calibrate else 0.0
        seconds += sum(
            sweep.repeat * (_RUN_S + one.traffic.warmup_s + one.traffic.duration_s) for one in missing
        )
    return Estimate(
        points=len(points),
        done=len(points) - len(missing),
        missing=len(missing),
        seconds=round(seconds, 1),
        core_seconds=None,
        memory_bytes=fabric_memory_bytes(graph.routers, hosts, len(graph.link_list)),
        free_memory_bytes=available_memory_bytes(),
        basis=TRAFFIC_TIMES,
    )

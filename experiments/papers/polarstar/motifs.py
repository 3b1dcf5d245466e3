"""Simulated completion times of motifs on PolarStar and other networks of Table 3 (Fig 11).

The available copies of the paper lack the sizes of messages and buffers and the number of iterations. This
module uses the values of SST's own tests of its motifs: messages of 4 KiB, flits of 8 bytes, ranks on hosts
in order, and no computation time. The allreduce is SST's, up and down a binary tree of ranks. Routers are
those of Figs 9 and 10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from experiments.events.base import ignore
from experiments.papers.model import ItemResult, Scale, Value
from experiments.papers.performance.digests import digest_of_application
from experiments.papers.performance.model import ComputeSettings
from experiments.papers.performance.store import RowStore
from experiments.papers.polarstar.performance import fabrics
from experiments.planned_fabric import PlannedFabric
from experiments.simulation.fabric import prepare_fabric
from experiments.spec.fabric import FabricOptions
from experiments.spec.simulation.applications import SimulatedApplication

TIMES = "motifs.csv"
_MOTIFS = {"allreduce": "allreduce:tree", "Sweep3D": "sweep3d"}
_NETWORKS = ("PS-IQ", "HX", "DF", "FT")
_RANKS, QUICK_RANKS = 4096, 64
_BYTES, _FLIT_BYTES = 4096, 8


@dataclass(frozen=True)
class StoredTime:
    """A row of the table of motifs: the time of a motif on a network.

    Attributes:
        digest: digest of everything that determines the time.
        curve: name of the network with its routing.
        pattern: name of the motif.
        cycles: cycles until the last rank has its result.
        ideal_cycles: lower bound on the cycles.
        seconds: run time of the simulation.
    """

    digest: str
    curve: str
    pattern: str
    cycles: int
    ideal_cycles: int
    seconds: float


def motif_networks(scale: Scale) -> dict[str, FabricOptions]:
    """Returns label -> compared network, with minimal routings and with UGAL.

    Args:
        scale: the scale; at quick scale the networks are small.
    """
    every = (one for group in fabrics(scale) for one in group.items())
    return {label: fabric for label, fabric in every if label.rpartition("-")[0] in _NETWORKS}


def motif_times(scale: Scale, settings: ComputeSettings) -> ItemResult:
    """Returns the times of both motifs on each network, and their speeds relative to the dragonfly.

    Args:
        scale: the scale.
        settings: the folder, whose table has the known times and receives new ones.

    Raises:
        MachineError: a network does not fit into the memory.
        KeyboardInterrupt: Ctrl-C; the table has the times simulated until then.
    """
    store = RowStore(settings.directory, TIMES, StoredTime)
    times: dict[str, dict[str, StoredTime]] = {name: {} for name in _MOTIFS}
    for label, fabric in motif_networks(scale).items():
        for name, found in _times(label, fabric, scale, settings, store):
            times[name][label] = found
    rows = [
        {
            "motif": name,
            "panel": f"{name}, over {_base(curve)}",
            "curve": curve,
            "cycles": one.cycles,
            "ideal_cycles": one.ideal_cycles,
            "slowdown": round(one.cycles / one.ideal_cycles, 4),
            "speed": round(of_motif[_base(curve)].cycles / one.cycles, 4),
        }
        for name, of_motif in times.items()
        for curve, one in of_motif.items()
    ]
    return ItemResult({} if scale.quick else speed_ratios(times), rows)


def _base(curve: str) -> str:
    """Returns the name of the dragonfly's curve that is the reference for the speed of a curve.

    Both have the same kind of routing, minimal or UGAL. The reference of the fat tree has UGAL.
    """
    return "DF-MIN" if curve.endswith("-MIN") else "DF-UGAL"


def speed_ratios(times: Mapping[str, Mapping[str, StoredTime]]) -> dict[str, Value | float]:
    """Returns the values of the claims of Fig 11: ratios of speeds.

    Args:
        times: name of a motif -> name of a network with its routing -> its time.
    """
    allreduce, sweep = times["allreduce"], times["Sweep3D"]

    def over(of_motif: Mapping[str, StoredTime], above: str, below: str) -> float:
        return of_motif[below].cycles / of_motif[above].cycles

    fastest = min((name for name in allreduce if name != "FT-NCA"), key=lambda name: allreduce[name].cycles)
    return {
        "allreduce fat tree": over(allreduce, "FT-NCA", fastest),
        "allreduce PS": over(allreduce, "PS-IQ-UGAL", "FT-NCA"),
        "allreduce hyperx": over(allreduce, "PS-IQ-UGAL", "HX-UGAL"),
        "sweep3d MIN": over(sweep, "PS-IQ-MIN", "DF-MIN"),
        "sweep3d hyperx": over(sweep, "PS-IQ-UGAL", "HX-UGAL"),
        "sweep3d fat tree": over(sweep, "PS-IQ-UGAL", "FT-NCA"),
    }


def _times(
    label: str, options: FabricOptions, scale: Scale, settings: ComputeSettings, store: RowStore[StoredTime]
) -> Iterator[tuple[str, StoredTime]]:
    """Yields (name of a motif, its time on a network); simulates the motifs that the table lacks."""
    ranks = QUICK_RANKS if scale.quick else _RANKS
    fabric: PlannedFabric | None = None
    for name, pattern in _MOTIFS.items():
        traffic = SimulatedApplication(pattern, ranks, "linear", (_BYTES,), 1, 1, 0, _FLIT_BYTES, 1)
        known = store.get(digest_of_application(options, traffic))
        if known is None:
            fabric = fabric or prepare_fabric(options, ignore)
            known = _simulated(label, fabric, traffic, settings)
            store.add(known)
        yield name, known


def _simulated(
    label: str, fabric: PlannedFabric, traffic: SimulatedApplication, settings: ComputeSettings
) -> StoredTime:
    """Returns the time of a motif on a network; raises KeyboardInterrupt if the simulation is interrupted."""
    from experiments.simulation.applications import simulate_messages  # importing it compiles the simulator

    record = simulate_messages(fabric, traffic, settings.on_event)
    application = record.application
    if record.result.interrupted or application is None:
        raise KeyboardInterrupt
    return StoredTime(
        digest=digest_of_application(fabric.options, traffic),
        curve=label,
        pattern=traffic.pattern,
        cycles=int(application.iterations[0].cycles),
        ideal_cycles=int(application.ideals[0].cycles),
        seconds=round(record.result.seconds, 3),
    )

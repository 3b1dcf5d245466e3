"""Files of a simulation: its inputs and its results."""

from __future__ import annotations

from experiments.results.manifest import write_graph
from experiments.results.parts.faults import schedule_text
from experiments.results.run_directory import FAULTS, MANIFEST, SUMMARY, RunDirectory
from experiments.results.simulation.model import SimulationSummary
from experiments.results.simulation.record import AnyTraffic, SimulationCounts
from experiments.results.simulation.series import write_series
from experiments.results.simulation.summary import manifest_of
from experiments.spec.fabric import FabricOptions
from experiments.spec.simulation.model import SimulatedTraffic


def write_simulation(directory: RunDirectory, counts: SimulationCounts, summary: SimulationSummary) -> None:
    """Writes all files of a simulation: manifest, graph, schedule of faults, tables and summary.

    Args:
        directory: folder of the simulation.
        counts: the simulation.
        summary: its summary.

    Raises:
        OSError: the disk is full or not available.
    """
    write_origin(directory, counts.fabric, counts.traffic)
    write_result(directory, counts, summary)


def write_origin(directory: RunDirectory, fabric: FabricOptions, traffic: AnyTraffic) -> None:
    """Writes the inputs of a simulation: manifest, graph if it is from networkx, schedule of faults.

    Args:
        directory: folder of the simulation.
        fabric: specification of the fabric.
        traffic: specification of the traffic.
    """
    directory.write_record(MANIFEST, manifest_of(fabric, traffic))
    write_graph(directory, fabric.topology)
    if isinstance(traffic, SimulatedTraffic):
        write_faults(directory, traffic)


def write_faults(directory: RunDirectory, traffic: SimulatedTraffic) -> None:
    """Writes the schedule of faults into a folder, so that it can be repeated; no file without faults.

    Args:
        directory: the folder.
        traffic: specification of the traffic.
    """
    if traffic.faults or traffic.faults_asked is not None:
        text = schedule_text(traffic.faults, traffic.faults_asked, traffic.seed)
        directory.write_text(FAULTS, text)


def write_result(directory: RunDirectory, counts: SimulationCounts, summary: SimulationSummary) -> None:
    """Writes the tables and the summary of a simulation.

    Args:
        directory: folder of the simulation.
        counts: the simulation.
        summary: its summary.
    """
    write_series(directory, counts)
    directory.write_record(SUMMARY, summary)

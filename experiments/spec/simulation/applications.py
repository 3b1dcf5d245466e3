"""Specifications of simulated applications: collectives, motifs, and traces of messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from experiments.spec.fabric import CREDIT, FabricOptions
from experiments.spec.values import check_range
from topology.errors import ParameterError, UsageError
from traffic.workload.applications import Application, make_application
from traffic.workload.collectives.registry import COLLECTIVES
from traffic.workload.messages import read_trace
from traffic.workload.placement import place_ranks

TRACE = "trace"  # replaces the name of a pattern
# Each message takes about a kilobyte of memory.
MAX_MESSAGES = 1_000_000


@dataclass(frozen=True)
class SimulatedApplication:
    """The collective or motif of a simulation.

    Attributes:
        pattern: its name, with its parameters.
        ranks: number of ranks, from 2 to the number of hosts.
        placement: assignment of ranks to hosts.
        message_bytes: message sizes.
        iterations: iterations of each size; each starts when the one before has ended on all ranks.
        slices: number of slices of a collective's vector that are processed in parallel.
        compute_cycles: cycles that a rank computes between exchanges.
        flit_bytes: bytes of a flit.
        seed: seed of the random generator.
    """

    pattern: str
    ranks: int
    placement: str
    message_bytes: tuple[int, ...]
    iterations: int
    slices: int
    compute_cycles: int
    flit_bytes: int
    seed: int
    load: ClassVar[None] = None
    arrivals: ClassVar[None] = None

    @property
    def application(self) -> Application:
        """The application with its algorithm or grid."""
        return make_application(self.pattern, self.ranks)


@dataclass(frozen=True)
class SimulatedTrace:
    """The trace of a simulation.

    Attributes:
        trace: path of the file.
        flit_bytes: bytes of a flit.
        seed: seed of the random generator.
    """

    trace: str
    flit_bytes: int
    seed: int
    pattern: ClassVar[str] = TRACE
    load: ClassVar[None] = None
    arrivals: ClassVar[None] = None


def check_application(traffic: SimulatedApplication, fabric: FabricOptions) -> None:
    """Raises UsageError if the fabric cannot run the application or it has too many messages."""
    _check_flow_control(traffic.pattern, fabric)
    place_ranks(traffic.placement, traffic.ranks, fabric.topology, fabric.hosts, traffic.seed)
    application = traffic.application
    collective = COLLECTIVES.get(application.name)
    check_range("slices", traffic.slices, 1, 64 if collective and collective.sliced else 1)
    for size in traffic.message_bytes:
        application.check_message(size)
    if traffic.compute_cycles and not application.computes:
        raise UsageError(
            f"--compute-cycles is for motifs and allreduce, got --pattern {traffic.pattern}; leave it out"
        )
    most = application.most_messages * traffic.slices
    if most > MAX_MESSAGES:
        raise ParameterError(
            f"an iteration must have at most {MAX_MESSAGES:,} messages, got up to {most:,} of "
            f"{traffic.pattern} with {traffic.ranks} ranks; choose fewer --ranks"
        )


def check_trace(traffic: SimulatedTrace, fabric: FabricOptions) -> None:
    """Raises UsageError if the trace cannot be read or the fabric cannot send it."""
    _check_flow_control("a trace", fabric)
    read_trace(traffic.trace, fabric.topology, fabric.hosts)


def _check_flow_control(what: str, fabric: FabricOptions) -> None:
    """Raises UsageError if routers may drop packets, as a message that lost a packet would never be complete.

    Args:
        what: noun for the application in the error.
        fabric: specification of the fabric.
    """
    if fabric.routers.flow_control != CREDIT:
        raise UsageError(
            f"{what} needs a lossless network, --flow-control {CREDIT}, got --flow-control "
            f"{fabric.routers.flow_control}"
        )

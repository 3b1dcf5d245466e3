"""Messages of applications as arrays of the kernel, and the times that they ideally take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulation.kernels import state as of
from simulation.kernels.messages import finish_unloaded
from simulation.kernels.state import NONE, Int32, Int64
from simulation.settings import RouterSettings
from topology.errors import ParameterError
from traffic.workload.messages import MessageGraph


def message_packets(graph: MessageGraph, routers: RouterSettings, flit_bytes: int) -> Int64:
    """Returns the packets of each message, at least one; a computation has none.

    Args:
        graph: the messages.
        routers: settings of routers and links.
        flit_bytes: bytes of a flit, at least 1.

    Returns:
        int64 array, (messages,).
    """
    packets = np.maximum(1, -(-graph.bytes // (flit_bytes * routers.packet_flits)))
    return np.asarray(np.where(graph.sent, packets, 0), np.int64)


def message_arrays(graph: MessageGraph, packets: Int64) -> tuple[Int64, Int32]:
    """Returns `State.messages` before the application's begin, and `State.successors`.

    Args:
        graph: the messages.
        packets: packets of each, int64 array, (messages,).
    """
    starts, successors = graph.successors()
    messages = np.zeros((len(graph), of.MESSAGE_COLUMNS), np.int64)
    columns = {
        of.MESSAGE_SOURCE: graph.source,
        of.MESSAGE_DESTINATION: graph.destination,
        of.UNSENT: packets,
        of.UNARRIVED: packets,
        of.WAITS_FOR: graph.waits_for(),
        of.COMPUTE_CYCLES: graph.compute_cycles,
        of.READY_CYCLE: np.full(len(graph), NONE),
        of.DUE_CYCLE: graph.begin_cycles,
        of.FIRST_SUCCESSOR: starts[:-1],
        of.LAST_SUCCESSOR: starts[1:],
        of.NEXT_MESSAGE: np.full(len(graph), NONE),
    }
    for column, values in columns.items():
        messages[:, column] = values
    return messages, successors.astype(np.int32)


@dataclass(frozen=True)
class Ideal:
    """Times of an application in a network in which no message waits for another one's packets.

    Attributes:
        message_cycles: cycles from each message's being ready to its last packet's arrival on a shortest
            path, int64 array, (messages,); 0 of computations.
        path_cycles: cycles until the last message has arrived if each takes so long: the longest path of
            dependencies.
        link_cycles: cycles that the link of the host which sends, or receives, most passes packets.
    """

    message_cycles: Int64
    path_cycles: int
    link_cycles: int

    @property
    def cycles(self) -> int:
        """Cycles in which the application cannot be done faster: the greater of the two."""
        return max(self.path_cycles, self.link_cycles)


def ideal_times(graph: MessageGraph, packets: Int64, unloaded: Int64, routers: RouterSettings) -> Ideal:
    """Returns the times that an application ideally takes.

    Args:
        graph: the messages.
        packets: packets of each, int64 array, (messages,).
        unloaded: cycles of a packet of each that waits for nothing, on the fastest path, (messages,).
        routers: settings of routers and links.

    Raises:
        ParameterError: messages wait for one another in a circle.
    """
    flits = routers.packet_flits
    # The first packet's time, and then a packet in every F cycles.
    durations = np.where(packets > 0, unloaded + (packets - 1) * flits, 0).astype(np.int64)
    messages, successors = message_arrays(graph, packets)
    stack = np.zeros(len(graph), np.int64)
    done = finish_unloaded(messages, successors.astype(np.int64), durations, stack)
    if done < len(graph):
        raise ParameterError("messages must not wait for one another in a circle")
    hosts = int(max(graph.source.max(initial=0), graph.destination.max(initial=0))) + 1
    loads = [np.bincount(ends, packets, hosts).max() for ends in (graph.source, graph.destination)]
    return Ideal(durations, int(messages[:, of.DUE_CYCLE].max(initial=0)), int(max(loads)) * flits)

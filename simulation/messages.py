"""Messages of applications as arrays of the kernel, and their ideal times without contention."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulation.kernels import state as const
from simulation.kernels.messages import finish_unloaded
from simulation.kernels.state import NONE, Int32, Int64
from simulation.settings import RouterSettings
from topology.errors import ParameterError
from traffic.workload.messages import MessageGraph


def message_packets(graph: MessageGraph, routers: RouterSettings, flit_bytes: int) -> Int64:
    """Returns the number of packets of each message: at least one, or 0 for a computation.

    Args:
        graph: the messages.
        routers: settings of routers and links.
        flit_bytes: bytes per flit, at least 1.

    Returns:
        int64 array, (messages,).
    """
    packets = np.maximum(1, -(-graph.bytes // (flit_bytes * routers.packet_flits)))
    return np.asarray(np.where(graph.sent, packets, 0), np.int64)


def message_arrays(graph: MessageGraph, packets: Int64) -> tuple[Int64, Int32]:
    """Returns `State.messages` before the application starts, and `State.successors`.

    Args:
        graph: the messages.
        packets: int64 array, (messages,): number of packets of each message.
    """
    starts, successors = graph.successors()
    messages = np.zeros((len(graph), const.MESSAGE_COLUMNS), np.int64)
    columns = {
        const.MESSAGE_SOURCE: graph.source,
        const.MESSAGE_DESTINATION: graph.destination,
        const.UNSENT: packets,
        const.UNARRIVED: packets,
        const.WAITS_FOR: graph.waits_for(),
        const.COMPUTE_CYCLES: graph.compute_cycles,
        const.READY_CYCLE: np.full(len(graph), NONE),
        const.DUE_CYCLE: graph.begin_cycles,
        const.FIRST_SUCCESSOR: starts[:-1],
        const.LAST_SUCCESSOR: starts[1:],
        const.NEXT_MESSAGE: np.full(len(graph), NONE),
    }
    for column, values in columns.items():
        messages[:, column] = values
    return messages, successors.astype(np.int32)


@dataclass(frozen=True)
class Ideal:
    """Ideal times of an application: those in a network without contention.

    Attributes:
        message_cycles: int64 array, (messages,): cycles from the time each message is ready to the arrival of
            its last packet over the fastest path; 0 for computations.
        path_cycles: length of the longest chain of dependencies, with these times.
        link_cycles: busy time of the most heavily used host link; its two directions count separately.
    """

    message_cycles: Int64
    path_cycles: int
    link_cycles: int

    @property
    def cycles(self) -> int:
        """Lower bound of the application's time in cycles: the larger of `path_cycles` and `link_cycles`."""
        return max(self.path_cycles, self.link_cycles)


def ideal_times(graph: MessageGraph, packets: Int64, unloaded: Int64, routers: RouterSettings) -> Ideal:
    """Returns the ideal times of an application.

    Args:
        graph: the messages.
        packets: int64 array, (messages,): number of packets of each message.
        unloaded: (messages,): zero-load latency in cycles of one packet of each message on its fastest path.
        routers: settings of routers and links.

    Raises:
        ParameterError: the messages have a cyclic dependency.
    """
    flits = routers.packet_flits
    # The host link passes one packet per F cycles: the last packet leaves (packets - 1) * F after the first.
    durations = np.where(packets > 0, unloaded + (packets - 1) * flits, 0).astype(np.int64)
    messages, successors = message_arrays(graph, packets)
    stack = np.zeros(len(graph), np.int64)
    done = finish_unloaded(messages, successors.astype(np.int64), durations, stack)
    if done < len(graph):
        raise ParameterError("messages must not have cyclic dependencies")
    hosts = int(max(graph.source.max(initial=0), graph.destination.max(initial=0))) + 1
    loads = [np.bincount(ends, packets, hosts).max() for ends in (graph.source, graph.destination)]
    return Ideal(durations, int(messages[:, const.DUE_CYCLE].max(initial=0)), int(max(loads)) * flits)

"""Ports of routers and their input queues, as arrays of the kernel."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulation.kernels import state as const
from simulation.kernels.state import NONE, Int32, Int64
from simulation.settings import RouterSettings
from simulation.tables.model import ForwardingTables
from simulation.timing import link_cycles


def make_ports(tables: ForwardingTables, routers: RouterSettings) -> tuple[Int32, Int32, Int32]:
    """Returns `State.first_ports`, `State.inputs` and `State.outputs`.

    Args:
        tables: forwarding tables.
        routers: settings of routers and links.
    """
    degrees = np.diff(tables.link_starts)
    hosts = np.bincount(tables.host_routers, minlength=tables.routers)
    sizes = degrees + hosts
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    owners = np.repeat(np.arange(tables.routers), sizes)
    inputs = np.zeros((len(owners), const.INPUT_COLUMNS), np.int32)
    inputs[:, const.OWNER] = owners
    outputs = np.zeros((len(owners), const.OUTPUT_COLUMNS), np.int32)
    outputs[:, [const.REQUEST_TICK, const.WINNER, const.OUTPUT_WAITERS]] = NONE
    outputs[:, const.OUTPUT_TURN] = starts[owners]
    links = link_ports(tables)
    outputs[links, const.PEER] = links[tables.reverse_links]
    outputs[links, const.DELAY] = link_cycles(tables, routers)
    first_host = np.concatenate([[0], np.cumsum(hosts)])
    index = np.arange(tables.hosts) - first_host[tables.host_routers]
    ports = starts[tables.host_routers] + degrees[tables.host_routers] + index
    outputs[ports, const.PEER] = -1 - np.arange(tables.hosts)
    outputs[ports, const.DELAY] = routers.host_link_cycles
    inputs[ports, const.HOST_INPUT] = 1
    return starts, inputs, outputs


def link_ports(tables: ForwardingTables) -> npt.NDArray[np.int64]:
    """Returns the port of each directed link.

    Args:
        tables: forwarding tables.

    Returns:
        int64 array, (links,).
    """
    hosts = np.bincount(tables.host_routers, minlength=tables.routers)
    before = np.concatenate([[0], np.cumsum(hosts)[:-1]])
    links = np.arange(tables.link_starts[-1], dtype=np.int64)
    return np.asarray(links + np.repeat(before, np.diff(tables.link_starts)))


def global_ports(tables: ForwardingTables) -> Int32:
    """Returns `State.global_ports`.

    Args:
        tables: forwarding tables.
    """
    is_global = np.zeros(len(tables.link_targets) + tables.hosts, np.int32)
    is_global[link_ports(tables)] = tables.global_links
    return is_global


def ports_of_hosts(inputs: Int32, outputs: Int32) -> Int32:
    """Returns the port of each host: int32 array, (H,).

    Args:
        inputs: `State.inputs`.
        outputs: `State.outputs`.
    """
    of_hosts = np.flatnonzero(inputs[:, const.HOST_INPUT])
    ports = np.zeros(len(of_hosts), np.int32)
    ports[-1 - outputs[of_hosts, const.PEER]] = of_hosts
    return ports


def make_queues(outputs: Int32, routers: RouterSettings, settings: Int64) -> Int32:
    """Returns `State.queues`, all empty.

    Args:
        outputs: `State.outputs`.
        routers: settings of routers and links.
        settings: `State.settings`.
    """
    ports = len(outputs)
    places = int(settings[const.QUEUE_PLACES])
    shift = int(settings[const.CHANNEL_SHIFT])
    queues = np.zeros((ports << shift, const.PACKETS + places), np.int32)
    queues[:, const.ROOM] = places * routers.packet_flits
    # Queue numbers per port are padded to a power of two: the padding has no room.
    queues[:, const.ROOM].reshape(ports, -1)[:, int(settings[const.CHANNELS]) :] = 0
    queues[:, const.NEXT_BLOCKED] = const.NOT_BLOCKED
    queues[:, const.ROOM_WAITERS] = NONE
    peers = outputs[:, const.PEER]
    senders = np.where(peers < 0, peers, 0)
    senders[peers[peers >= 0]] = np.flatnonzero(peers >= 0)
    queues[:, const.SENDER] = np.repeat(senders, 1 << shift)
    return queues

"""Ports of routers, and the queues at their inputs, as arrays of the kernel."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulation.kernels import state as of
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
    inputs = np.zeros((len(owners), of.INPUT_COLUMNS), np.int32)
    inputs[:, of.OWNER] = owners
    outputs = np.zeros((len(owners), of.OUTPUT_COLUMNS), np.int32)
    outputs[:, [of.ASKED, of.ASKING, of.BUSY]] = NONE
    outputs[:, of.OUTPUT_TURN] = starts[owners]
    links = link_ports(tables)
    outputs[links, of.PEER] = links[tables.reverse_links]
    outputs[links, of.DELAY] = link_cycles(tables, routers)
    first_host = np.concatenate([[0], np.cumsum(hosts)])
    index = np.arange(tables.hosts) - first_host[tables.host_routers]
    ports = starts[tables.host_routers] + degrees[tables.host_routers] + index
    outputs[ports, of.PEER] = -1 - np.arange(tables.hosts)
    outputs[ports, of.DELAY] = routers.host_link_cycles
    inputs[ports, of.OF_HOST] = 1
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
    found = np.zeros(len(tables.link_targets) + tables.hosts, np.int32)
    found[link_ports(tables)] = tables.global_links
    return found


def ports_of_hosts(inputs: Int32, outputs: Int32) -> Int32:
    """Returns the port of each host, int32 array, (H,).

    Args:
        inputs: `State.inputs`.
        outputs: `State.outputs`.
    """
    of_hosts = np.flatnonzero(inputs[:, of.OF_HOST])
    ports = np.zeros(len(of_hosts), np.int32)
    ports[-1 - outputs[of_hosts, of.PEER]] = of_hosts
    return ports


def make_queues(outputs: Int32, routers: RouterSettings, settings: Int64) -> Int32:
    """Returns `State.queues`, all of them empty.

    Args:
        outputs: `State.outputs`.
        routers: settings of routers and links.
        settings: `State.settings`.
    """
    ports = len(outputs)
    places = int(settings[of.QUEUE_PLACES])
    shift = int(settings[of.CHANNEL_SHIFT])
    queues = np.zeros((ports << shift, of.PACKETS + places), np.int32)
    queues[:, of.ROOM] = places * routers.packet_flits
    # Numbers beyond the channels of a port stand for no queue.
    queues[:, of.ROOM].reshape(ports, -1)[:, int(settings[of.CHANNELS]) :] = 0
    queues[:, of.NEXT_BLOCKED] = of.FREE
    queues[:, of.SHORT] = NONE
    peers = outputs[:, of.PEER]
    senders = np.where(peers < 0, peers, 0)
    senders[peers[peers >= 0]] = np.flatnonzero(peers >= 0)
    queues[:, of.SENDER] = np.repeat(senders, 1 << shift)
    return queues

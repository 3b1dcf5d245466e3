"""Current paths between two hosts: by the plan under the current failures, and by probes."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.live_fabric import LiveFabric
from experiments.session.interfaces import RUNNING, UP, check_power, interface_flags
from experiments.theory.explain import ListedPath, check_has_hosts, path_lines, paths_between
from routing.replan.replan import surviving_plan
from topology.addressing import INITIAL_TTL, Host, switch_router
from topology.drains import NO_DRAIN, Drain
from topology.errors import ParameterError, UsageError
from topology.failures import NO_FAILURE, failure_of
from topology.faults import Component
from traffic.engine import sockets
from traffic.engine.receivers import Receivers
from traffic.engine.sockets import open_all, open_sender
from traffic.wire.layout import HEADER_BYTES
from traffic.wire.probe_codec import FrameBuffer, genuine, intact, read_headers
from traffic.wire.probe_frame import build_probe
from traffic.wire.tags import Tagger, new_key

_PROBES = 16
_PAUSE_S, _PATIENCE_S = 0.002, 0.5
_FIRST_RUN = 2000  # id in the frames of the first path's probes; other probes of a fabric have smaller ids
_runs = itertools.count(_FIRST_RUN)


@dataclass(frozen=True)
class PathReport:
    """Paths from one host to another.

    Attributes:
        source, destination: names of the hosts.
        failed: names of the failed components that the paths take into account.
        drained: names of the drained components that the paths avoid.
        replanned: whether the controller has replanned for the failures; if not, switches reroute themselves.
        paths: paths that packets take by the plan's rules.
        alternatives: paths that the controller may choose under load.
        probes: hops -> number of probes that have just arrived over that many hops.
        lost: number of probes that did not arrive.
    """

    source: str
    destination: str
    failed: tuple[str, ...]
    drained: tuple[str, ...]
    replanned: bool
    paths: tuple[ListedPath, ...]
    alternatives: tuple[ListedPath, ...]
    probes: dict[int, int]
    lost: int

    def __str__(self) -> str:
        lines = [f"{self.source} to {self.destination}, by the plan's rules:"]
        if self.failed:
            by = "the controller has planned again" if self.replanned else "switches reroute by themselves"
            lines = [f"{self.source} to {self.destination}, without {', '.join(self.failed)} ({by}):"]
        if self.drained:
            lines[0] = f"{lines[0].removesuffix(':')}, around {', '.join(self.drained)} (drained):"
        lines += path_lines(self.paths)
        if self.alternatives:
            lines += ["the controller may send some flows by these paths instead:"]
            lines += path_lines(self.alternatives)
        taken = ", ".join(f"{count} over {_hops(hops)}" for hops, count in self.probes.items())
        lost = f"{self.lost} lost" if self.lost else "none lost"
        return "\n".join([*lines, f"probes now: {taken or 'none arrived'}, {lost}"])

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        """Prints the report in IPython."""
        printer.text(str(self))


def _hops(hops: int) -> str:
    return f"{hops} hop" if hops == 1 else f"{hops} hops"


def report_paths(
    fabric: LiveFabric, source: str, destination: str, failed: Sequence[Component], drain: Drain = NO_DRAIN
) -> PathReport:
    """Returns the paths between two hosts, according to the plan and to probes that are sent now.

    Args:
        fabric: the fabric.
        source: name of a host, or of a switch, which stands for its first host.
        destination: name of a host or switch elsewhere.
        failed: the components that have failed.
        drain: the components that are drained.

    Raises:
        ParameterError: the fabric has no such host or switch, or both are at one switch.
        UsageError: a switch has no power, or a host's interface is down.
        NegativeResult: no plan exists for these failures.
    """
    ends = _host(fabric, source), _host(fabric, destination)
    if ends[0].router == ends[1].router:
        raise ParameterError(
            f"source and destination must be at different switches, got {source} and {destination}"
        )
    for end in ends:
        check_power(end.router, failed)
    failure = failure_of(fabric.options.topology, failed)
    replanned = failure.any_failed and fabric.controller.planned_failure != "none"
    planned = failure if replanned else NO_FAILURE
    plan = surviving_plan(fabric.plan, planned, drain, toward=[ends[1].router])
    paths, alternatives = paths_between(plan, *ends, failure)
    probes = probe(fabric, *ends)
    return PathReport(
        ends[0].name,
        ends[1].name,
        tuple(component.name for component in failed),
        tuple(component.name for component in drain.components if component not in failed),
        replanned,
        paths,
        alternatives,
        dict(sorted(probes.items())),
        _PROBES - sum(probes.values()),
    )


def probe(fabric: LiveFabric, source: Host, destination: Host) -> Counter[int]:
    """Sends probes of several flows from one host to another; returns hops -> number of arrived probes."""
    network, run = fabric.network, next(_runs)
    for host in (source, destination):
        _check_up(*network.host_interface(host), host.name)
    template, tagger = build_probe(source, destination, frame_bytes=HEADER_BYTES, run=run), Tagger(new_key())
    frames = FrameBuffer(template, _PROBES, tagger)
    ips = [np.full(_PROBES, host.ip, np.uint32) for host in (source, destination)]
    frames.fill(ips[0], ips[1], np.arange(_PROBES), np.arange(_PROBES))
    receivers = Receivers([network.switch_interface(destination)], run, 2 * _PROBES)
    (sender,) = open_all([network.host_interface(source)], open_sender)
    try:
        with sender:
            frames.stamp(0, _PROBES, time.time_ns())
            for frame in frames.views:
                with contextlib.suppress(OSError):  # no carrier: the probe counts as lost
                    sender.send(frame)
                time.sleep(_PAUSE_S)
        return _arrived(receivers, tagger)
    finally:
        receivers.close()


def _check_up(pid: int, interface: str, host: str) -> None:
    """Raises UsageError unless a host's interface exists and is up."""
    with sockets.namespaces():
        sockets.enter(pid)
        try:
            flags = interface_flags(interface)
        except OSError:
            raise UsageError(f"{host} has no interface {interface}, so no probe can be sent") from None
    if not flags & UP:
        raise UsageError(f"{interface} is down; `{host} ip link set {interface} up` sets it up")
    if not flags & RUNNING:
        raise UsageError(f"{interface} is down: its link has failed; `restore all` restores it")


def _arrived(receivers: Receivers, tagger: Tagger) -> Counter[int]:
    hops: dict[int, int] = {}  # by sequence number, as hosts may send copies
    end_s = time.monotonic() + _PATIENCE_S
    while len(hops) < _PROBES and time.monotonic() < end_s:
        count = receivers.receive()
        frames = receivers.buffer.frames[:count]
        headers = read_headers(frames)
        good = intact(headers) & (receivers.buffer.lengths(count) == HEADER_BYTES)
        for header in headers[good & genuine(frames, tagger)]:
            hops.setdefault(int(header["sequence"]), INITIAL_TTL - int(header["ttl"]))
        receivers.buffer.reset(count)
        time.sleep(_PAUSE_S)
    return Counter(hops.values())


def _host(fabric: LiveFabric, name: str) -> Host:
    """Returns the host with a name or, if that is a switch's name, the switch's first host."""
    for host in fabric.hosts:
        if host.name == name:
            return host
    topology = fabric.options.topology
    if not name.startswith("s"):
        hosts = f"{fabric.hosts[0].name} to {fabric.hosts[-1].name}"
        raise ParameterError(
            f"path endpoint must be a switch (s1 to s{topology.routers}) or a host ({hosts}), got {name!r}"
        )
    router = switch_router(name, topology.routers)
    check_has_hosts(topology, router)
    return next(host for host in fabric.hosts if host.router == router)

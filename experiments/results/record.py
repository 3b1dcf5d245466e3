"""Records of runs: all observations, independent of the backend that carried the traffic.

A backend (so far only the emulation) returns a RunRecord. Summaries, series and figures are computed from it
and need no running fabric.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from experiments.planned_fabric import PlannedFabric
from experiments.results.link_loads import LinkLoads, LinkLog, directed_links, link_loads
from experiments.results.model import Adaptation, PairCheck
from experiments.results.parts.faults import FaultRecord
from experiments.results.parts.host_links import HostLinkRow, host_link_rows
from experiments.results.parts.programs import ProgramRecord, PromptLine, TrafficOutcome
from experiments.spec.programs import ProgramTraffic
from experiments.spec.resolve import RunTraffic
from experiments.validity.clock_monitor import ClockSamples
from experiments.validity.foreign_frames import HostBytes
from experiments.validity.samples import ControllerSamples, CpuSamples, HeldSamples
from traffic.metrics.measurements import TrafficResult


@dataclass(frozen=True)
class RunRecord:
    """Observations of a run of traffic over a fabric.

    Attributes:
        fabric: the fabric.
        traffic: specification of the traffic.
        check: check of all pairs of hosts before traffic.
        result: counts of all packets.
        clock: offsets of the machine's wall clock.
        cpu: idle and steal time of the CPU, second by second.
        held: how long switches held frames before processing them, second by second; None if it cannot be
            observed.
        links: readings of link queues; None if they could not be read.
        controller: times at which the controller was stopped; None if not observed.
        host_bytes: bytes on the links to the hosts; None if not observed.
        adaptation: actions of the controller.
        flow_base_ms: hops -> time in ms of a one-byte flow in the idle fabric; empty without TCP flows.
        faults: injected faults; None if none were requested.
        troubles: problems of the run, one sentence each.
        programs: user programs that ran during the run.
        lines: lines that ran at the prompt during the run; None outside of a session.
        background: background traffic of a session.
        unasked: locations of links and switches that the controller stopped using although no
            failure, at the start or in the schedule, affected them.
        avoided: locations of the failed links and switches, like `s1-s7, s4`, that the controller's plan
            avoided before the traffic started; `none` for none.
    """

    fabric: PlannedFabric
    traffic: RunTraffic
    check: PairCheck
    result: TrafficResult
    cpu: CpuSamples
    links: LinkLog | None
    adaptation: Adaptation
    clock: ClockSamples = field(default_factory=ClockSamples)
    held: HeldSamples | None = None
    controller: ControllerSamples | None = None
    host_bytes: HostBytes | None = None
    faults: FaultRecord | None = None
    troubles: tuple[str, ...] = ()
    flow_base_ms: Mapping[int, float] = field(default_factory=dict)
    programs: tuple[ProgramRecord, ...] = ()
    lines: tuple[PromptLine, ...] | None = None
    background: tuple[TrafficOutcome, ...] = ()
    unasked: tuple[str, ...] = ()
    avoided: str = "none"

    @property
    def generated(self) -> bool:
        """Whether packets were generated; otherwise all traffic came from programs."""
        return not isinstance(self.traffic, ProgramTraffic)

    @property
    def ended_early(self) -> bool:
        """Whether the traffic ended early, by Ctrl-C or because one of its processes ended."""
        return self.result.interrupted or bool(self.result.failed)

    @property
    def start_s(self) -> float:
        """Start of the traffic on the clock of time.monotonic, in s."""
        return self.result.clock.monotonic_ns / 1e9

    @property
    def window_s(self) -> tuple[float, float]:
        """Start and end of the window that was actually measured, in seconds since the start of traffic."""
        last_s = self.result.sent.seconds
        if self.result.window_ns is None:
            return last_s, last_s
        start_s, end_s = (time_ns / 1e9 for time_ns in self.result.window_ns)
        return (min(start_s, last_s), min(end_s, last_s)) if self.ended_early else (start_s, end_s)

    @property
    def judged_s(self) -> tuple[float, float]:
        """Begin and end of the time in which a stall affects the result, in seconds like `window_s`.

        It begins before the window, because packets that a stall delays arrive later in a burst, and ends
        when the window's last packet or flow has arrived.
        """
        begin_s, end_s = self.window_s
        begin_s = max(0.0, begin_s - self.result.settling_ns / 1e9)
        return begin_s, max(end_s, self.result.received.last_ns / 1e9)

    def link_loads(self) -> LinkLoads | None:
        """Returns the loads of all links between routers in the measurement window; None if not observed."""
        if self.links is None:
            return None
        start_s, end_s = (self.start_s + time_s for time_s in self.window_s)
        links = directed_links(self.fabric.options.topology)
        return link_loads(self.links.history, links, start_s, end_s, self.fabric.options.links.rate_bps)

    def host_links(self) -> list[HostLinkRow] | None:
        """Returns the links between switches and hosts in the whole run; None if not observed."""
        if self.links is None:
            return None
        topology, history = self.fabric.options.topology, self.links.history
        hosts = [(host, topology.host_port(host.router, host.index)) for host in self.fabric.hosts]
        by_switches = {(host.router, port): history.totals(host.router + 1, port) for host, port in hosts}
        return host_link_rows(hosts, by_switches, self.links.host_queues)

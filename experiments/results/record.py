"""Records of runs: all that was observed, from whichever backend carried the traffic.

A backend (the emulation; others may follow) gives a RunRecord. Summaries, series and figures are made of it
and need nothing that runs.
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
from experiments.validity.samples import ControllerSamples, CpuSamples, HeldSamples
from traffic.metrics.measurements import TrafficResult


@dataclass(frozen=True)
class RunRecord:
    """Run of traffic over a fabric, as it was observed.

    Attributes:
        fabric: the fabric.
        traffic: specification of the traffic.
        check: check of all pairs of hosts before it.
        result: counts of all packets.
        cpu: idle and stolen share of the CPU, second by second.
        held: how long switches held frames, second by second; None where it cannot be observed.
        links: readings of the links' queues; None where they could not be read.
        controller: times at which the controller was stopped; None if nobody looked.
        adaptation: work of the controller.
        flow_base_ms: hops -> time of a flow of one byte in the empty fabric, in ms; empty without TCP flows.
        faults: faults that were injected, if any were asked for.
        troubles: reasons why the run did not end as it should, a sentence each.
        programs: programs of the user that ran meanwhile.
        lines: lines that ran at the prompt meanwhile; None if it was no session.
        background: background traffic of a session.
        unasked: locations of links and switches that the controller took out of use though they neither had
            failed at the start nor were scheduled to.
    """

    fabric: PlannedFabric
    traffic: RunTraffic
    check: PairCheck
    result: TrafficResult
    cpu: CpuSamples
    links: LinkLog | None
    adaptation: Adaptation
    held: HeldSamples | None = None
    controller: ControllerSamples | None = None
    faults: FaultRecord | None = None
    troubles: tuple[str, ...] = ()
    flow_base_ms: Mapping[int, float] = field(default_factory=dict)
    programs: tuple[ProgramRecord, ...] = ()
    lines: tuple[PromptLine, ...] | None = None
    background: tuple[TrafficOutcome, ...] = ()
    unasked: tuple[str, ...] = ()

    @property
    def generated(self) -> bool:
        """Whether packets were generated; if not, the traffic was that of programs alone."""
        return not isinstance(self.traffic, ProgramTraffic)

    @property
    def ended_early(self) -> bool:
        """Whether the traffic was ended before its time, by Ctrl-C or by the end of one of its processes."""
        return self.result.interrupted or bool(self.result.failed)

    @property
    def start_s(self) -> float:
        """Start of the traffic on time.monotonic's clock."""
        return self.result.clock.monotonic_ns / 1e9

    @property
    def window_s(self) -> tuple[float, float]:
        """Begin and end of the window that was really measured, in seconds since the start of the traffic."""
        last_s = self.result.sent.seconds
        if self.result.window_ns is None:
            return last_s, last_s
        begin_s, end_s = (time_ns / 1e9 for time_ns in self.result.window_ns)
        return (min(begin_s, last_s), min(end_s, last_s)) if self.ended_early else (begin_s, end_s)

    def link_loads(self) -> LinkLoads | None:
        """Returns the loads of all links between routers in the measured window, if they were observed."""
        if self.links is None:
            return None
        begin_s, end_s = (self.start_s + time_s for time_s in self.window_s)
        links = directed_links(self.fabric.options.topology)
        return link_loads(self.links.history, links, begin_s, end_s, self.fabric.options.links.rate_bps)

    def host_links(self) -> list[HostLinkRow] | None:
        """Returns the links between switches and hosts in the whole run, if they were observed."""
        if self.links is None:
            return None
        topology, history = self.fabric.options.topology, self.links.history
        hosts = [(host, topology.host_port(host.router, host.index)) for host in self.fabric.hosts]
        by_switches = {(host.router, port): history.totals(host.router + 1, port) for host, port in hosts}
        return host_link_rows(hosts, by_switches, self.links.host_queues)

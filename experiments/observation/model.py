"""Records for those who watch a fabric: its description, its state at a moment, and events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from experiments.session.background import TrafficStatus


@dataclass(frozen=True)
class DescribedLink:
    """A link between two routers.

    Attributes:
        name: its name, as `s1-s7`, or `s1-s7.2` of parallel links.
        ends: its two routers, from 0.
        ports: the port of each end.
        directions: the places in a state's lists of the direction from the first end, and from the second.
    """

    name: str
    ends: tuple[int, int]
    ports: tuple[int, int]
    directions: tuple[int, int]


@dataclass(frozen=True)
class Proof:
    """The proof of the plan that was installed.

    Attributes:
        pairs: ordered pairs of hosts, all of which the plan connects.
        max_hops: most links between routers that a packet takes.
        rules, groups: numbers of rules and groups of all switches.
    """

    pairs: int
    max_hops: int
    rules: int
    groups: int


@dataclass(frozen=True)
class DescribedParameter:
    """A parameter of the routing that can change while the fabric is up.

    Attributes:
        name: its name, as `rest-returned`.
        help: its meaning, domain and default.
        whole: whether its values are whole numbers.
        least, most: inclusive bounds; None without one.
        above: exclusive lower bound; None without one.
        value: its value as the fabric was launched.
    """

    name: str
    help: str
    whole: bool
    least: float | None
    most: float | None
    above: float | None
    value: float


@dataclass(frozen=True)
class FabricDescription:
    """A fabric, as it is drawn.

    Attributes:
        title: its name with its parameters, as `polarfly q=5`.
        name, params: family of the topology, and parameters.
        routing: name of the routing.
        hosts: names of the hosts, router by router.
        host_routers: router of each host, from 0.
        link_rate_bps: rate of every port.
        queue_packets: capacity of every port's queue.
        routers: number of routers; router r is the switch `s<r+1>`.
        links: the links between routers.
        positions: x and y of each router in the topology's own layout, y upward, in units of the layout.
        kinds: names of the kinds of routers.
        kind: the place in `kinds` of each router's kind.
        rows: whether routers lie in rows, in which straight links would cover one another.
        proof: the proof of the plan; None where it is not known.
        patterns: names of the traffic patterns that a session can start.
        collectives: names of the collective operations that a session can measure, each with an algorithm.
        parameters: parameters of the routing that can change while the fabric is up.
        actions: names of the actions that those who watch may ask for.
        replay: the results that are replayed; None of a fabric that is up.
    """

    title: str
    name: str
    params: Mapping[str, Any]
    routing: str
    hosts: tuple[str, ...]
    host_routers: tuple[int, ...]
    link_rate_bps: int
    queue_packets: int
    routers: int
    links: tuple[DescribedLink, ...]
    positions: tuple[tuple[float, float], ...]
    kinds: tuple[str, ...]
    kind: tuple[int, ...]
    rows: bool
    proof: Proof | None = None
    patterns: tuple[str, ...] = ()
    collectives: tuple[str, ...] = ()
    parameters: tuple[DescribedParameter, ...] = ()
    actions: tuple[str, ...] = ()
    replay: str | None = None


@dataclass(frozen=True)
class Validity:
    """Judgement of the present measurement.

    Attributes:
        valid: whether it can; None while nothing is judged.
        reason: the reason, in words.
        held_frame_times: longest mean time for which a switch held frames in the last second, in frame times;
            None where it is not observed.
    """

    valid: bool | None
    reason: str
    held_frame_times: float | None = None


@dataclass(frozen=True)
class TrafficSilence:
    """Background traffic around a change of the fabric.

    Attributes:
        silence_ms: longest time between two arrivals of a pair of hosts that ended since the change, or goes
            on.
        pair: the pair, as `h1_1 to h9_1`.
        before_ms: the same of the seconds before the change: patterns at random have long gaps by themselves.
        lost: packets that have not arrived though a later one of their source has, since the change.
        ongoing: whether the silence goes on, twice as long as those before, so that more packets may be
            lost.
    """

    silence_ms: float
    pair: str
    before_ms: float
    lost: int
    ongoing: bool = False


@dataclass(frozen=True)
class CollectiveStatus:
    """A collective operation that is measured.

    Attributes:
        pattern: its name with its algorithm.
        ranks: number of ranks.
        seconds: since its start.
        done: share of the messages of all its iterations that have arrived; None where it is not known.
        expected_s: its whole length if it goes on as until now; None before that can be told.
        accepted: bytes received in the last second, as a fraction of all ranks' link rates.
        latency_p99_ms: 99th percentile of recent latencies; None before the first.
    """

    pattern: str
    ranks: int
    seconds: float
    done: float | None
    expected_s: float | None
    accepted: float
    latency_p99_ms: float | None


@dataclass(frozen=True)
class IncidentState:
    """The probes around the latest change of a fabric.

    Attributes:
        number: its number, from 1.
        what: the change, in words.
        pairs: pairs of hosts that are probed, each every `interval_ms`.
        interval_ms: time between two probes of a pair.
        sent, lost: probes so far; lost are those that were overtaken or overdue.
        silence_ms: longest time between two arrivals of a pair.
        repaired_ms: time from the change until all pairs were heard again; None before that.
        repaired_by: `switches`, `controller`, `nothing was broken`, or None before it is known.
        planned_ms: time from the change until all switches held the controller's plan for it; None before.
        running: whether probes are still sent.
        traffic: background traffic since the change; None if none flows.
    """

    number: int
    what: str
    pairs: int
    interval_ms: float
    sent: int = 0
    lost: int = 0
    silence_ms: float = 0.0
    repaired_ms: float | None = None
    repaired_by: str | None = None
    planned_ms: float | None = None
    running: bool = True
    traffic: TrafficSilence | None = None


@dataclass(frozen=True)
class FabricState:
    """A fabric at a moment.

    Attributes:
        number: number of the state, growing.
        time_s: seconds since the observation began.
        load: bits carried since the state before in each direction of a link, as a fraction of its rate; in
            the order of `topology`'s directed links.
        waiting: packets that wait in the queue of each direction.
        dropped: packets that the queue of each direction has dropped since the observation began.
        down: directions whose port has no carrier or is set down, as the sending switch's kernel says.
        failed: names of the elements that have failed.
        drained: names of the elements that are drained.
        controller: `running`, `killed` or `ended`.
        planned_failure: the failure that the controller's present plan is for; `none` for the whole fabric.
        replans: plans for failures and drains that the controller has made since the fabric was up.
        groups_modified: adaptive groups that the controller has changed since its start.
        detoured: share of all adaptive buckets that point at detours; None where no routing adapts.
        host_links_down: names of the hosts whose links are down.
        routing: name of the routing with the parameters that hold now; empty where it is not known.
        traffic: background traffic, or that of an experiment; None if none flows.
        collective: the collective operation that is measured; None if none is.
        validity: whether what is measured now can be trusted.
        incident: the probes around the latest change; None before the first.
        entries: number of events so far.
    """

    number: int
    time_s: float
    load: tuple[float, ...]
    waiting: tuple[int, ...]
    dropped: tuple[int, ...]
    down: tuple[int, ...]
    failed: tuple[str, ...] = ()
    drained: tuple[str, ...] = ()
    controller: str = "running"
    planned_failure: str = "none"
    replans: int = 0
    groups_modified: int = 0
    detoured: float | None = None
    host_links_down: tuple[str, ...] = ()
    routing: str = ""
    traffic: TrafficStatus | None = None
    collective: CollectiveStatus | None = None
    validity: Validity = field(default_factory=lambda: Validity(None, "nothing is measured"))
    incident: IncidentState | None = None
    entries: int = 0


@dataclass(frozen=True)
class Entry:
    """An event of the timeline.

    Attributes:
        number: its number, from 0.
        time_s: seconds since the observation began.
        kind: `action`, `port`, `repair`, `controller`, `traffic`, `fabric` or `warning`.
        text: the event, in words.
        incident: number of the incident that it belongs to; None for none.
    """

    number: int
    time_s: float
    kind: str
    text: str
    incident: int | None = None

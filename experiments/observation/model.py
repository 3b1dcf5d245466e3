"""Records for viewers of a fabric: its description, its state at one time, and events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from experiments.session.background import TrafficStatus


@dataclass(frozen=True)
class DescribedLink:
    """A link between two routers.

    Attributes:
        name: its name, like `s1-s7`, or `s1-s7.2` for parallel links.
        ends: its two routers, from 0.
        ports: the port at each end.
        directions: indices in a state's lists: the direction from the first end, then from the second.
    """

    name: str
    ends: tuple[int, int]
    ports: tuple[int, int]
    directions: tuple[int, int]


@dataclass(frozen=True)
class Proof:
    """The proof of the installed plan.

    Attributes:
        pairs: number of ordered pairs of hosts; the plan connects all of them.
        max_hops: largest number of links between routers that a packet takes.
        rules, groups: how many rules and groups all switches have.
    """

    pairs: int
    max_hops: int
    rules: int
    groups: int


@dataclass(frozen=True)
class DescribedParameter:
    """A parameter of the routing that can change while the fabric is up.

    Attributes:
        name: its name, like `rest-returned`.
        help: its meaning, domain and default.
        whole: whether its values are integers.
        least, most: inclusive bounds; None if there is none.
        above: exclusive lower bound; None if there is none.
        choices: its values if they are words; empty for numbers.
        value: its value when the fabric was launched.
    """

    name: str
    help: str
    whole: bool
    least: float | None
    most: float | None
    above: float | None
    choices: tuple[str, ...]
    value: float | str


@dataclass(frozen=True)
class FabricDescription:
    """The static properties of a fabric, as viewers draw it.

    Attributes:
        title: its name with its parameters, like `polarfly q=5`.
        name, params: family of the topology, and its parameters.
        routing: name of the routing.
        hosts: names of the hosts, router by router.
        host_routers: router of each host, from 0.
        link_rate_bps: rate of every port.
        queue_packets: capacity of every port's queue.
        routers: number of routers; router r is the switch `s<r+1>`.
        links: the links between routers.
        positions: x and y of each router in the topology's own layout, y upward, in units of the layout.
        kinds: names of the kinds of routers.
        kind: index in `kinds` of each router's kind.
        rows: whether routers lie in rows, so that straight links would overlap.
        proof: the proof of the plan; None if it is not known.
        patterns: names of the traffic patterns that a session can start.
        collectives: names of the collective operations that a session can measure, each with an algorithm.
        parameters: parameters of the routing that can change while the fabric is up.
        actions: names of the actions that viewers may request.
        replay: name of the replayed results; None for a live fabric.
        points: names of the points or seeds of the replayed results; empty for a single run.
        point: name of the point that is shown.
        lacks: files that the replayed results lack, and what is therefore not known.
        shown_first: index of the recorded state that is shown first.
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
    points: tuple[str, ...] = ()
    point: str = ""
    lacks: tuple[str, ...] = ()
    shown_first: int = 0


@dataclass(frozen=True)
class Validity:
    """Judgement of the current measurement.

    Attributes:
        valid: whether the measurement can be trusted; None if it is not judged.
        reason: the reason, in words.
        held_frame_times: longest mean time for which a switch held frames in the last second, in frame times;
            None if it is not observed.
    """

    valid: bool | None
    reason: str
    held_frame_times: float | None = None


@dataclass(frozen=True)
class TrafficSilence:
    """Background traffic around a change of the fabric.

    Attributes:
        silence_ms: longest gap between arrivals of a pair of hosts, among the gaps that ended after the
            change or still continue.
        pair: the pair, like `h1_1 to h9_1`.
        before_ms: longest gap in the seconds before the change; random traffic has long gaps anyway.
        lost: packets since the change that have not arrived although a later packet of the same source has.
        seldom: whether pairs send so seldom that this silence does not differ from earlier ones.
        ongoing: whether the silence continues and is over twice as long as earlier ones, so that more packets
            may be lost.
    """

    silence_ms: float
    pair: str
    before_ms: float
    lost: int
    ongoing: bool = False
    seldom: bool = False


@dataclass(frozen=True)
class CollectiveStatus:
    """A collective operation that is measured.

    Attributes:
        pattern: its name with its algorithm.
        ranks: number of ranks.
        seconds: time since its start in s.
        done: fraction of the messages of all its iterations that has arrived; None if it is not known.
        expected_s: total length in s, extrapolated from the progress so far; None if too little is done.
        accepted: bytes received in the last second, as a fraction of the ranks' total link rate.
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
        pairs: how many pairs of hosts are probed.
        interval_ms: time between two probes of a pair.
        sent, lost: probes so far; a probe is lost if it is overdue or a later one of its pair overtook it.
        silence_ms: longest time between two arrivals of a pair.
        repaired_ms: time from the change until all pairs delivered again; None before that.
        repaired_by: `switches`, `controller`, `nothing was broken`, or None before it is known.
        planned_ms: time from the change until all switches had installed the controller's plan for it; None
            before that.
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
    """The state of a fabric at one time.

    Attributes:
        number: number of the state, ascending.
        time_s: seconds since the observation started.
        load: bits carried in each direction of a link since the previous state, as a fraction of its
            capacity; in the order of `directed_links`.
        waiting: packets that wait in the queue of each direction.
        dropped: packets that the queue of each direction has dropped since the observation started.
        down: directions whose port has no carrier or is set down, according to the sending switch's kernel.
        failed: names of the components that a session or a schedule has made fail.
        drained: names of the components that are drained.
        controller: `running`, `killed` or `ended`.
        planned_failure: the failure that the controller's current plan is for; `none` for the whole fabric.
        replans: number of plans for failures and drains since the fabric came up.
        groups_modified: adaptive groups that the controller has changed since its start.
        detoured: fraction of adaptive buckets that point at detours; None if the routing does not adapt.
        host_links_down: names of the hosts whose links are down.
        routing: name of the routing with its current parameters; empty if it is not known.
        traffic: background traffic, or the traffic of an experiment; None if there is none.
        collective: the collective operation that is measured; None if there is none.
        validity: whether the current measurement can be trusted.
        incident: the probes around the latest change; None before the first.
        entries: number of events so far.
        headline: what failed, what was lost, who repaired it, and whether packets arrive; empty without a
            failure.
        headline_level: `quiet`, `bad`, `repaired` or `good`.
        around: paths, each a list of switches, that packets now take around the failures.
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
    validity: Validity = field(default_factory=lambda: Validity(None, "nothing is being measured"))
    incident: IncidentState | None = None
    entries: int = 0
    headline: str = ""
    headline_level: str = "quiet"
    around: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Entry:
    """An event of the timeline.

    Attributes:
        number: its number, from 0.
        time_s: seconds since the observation started.
        kind: `action`, `port`, `repair`, `controller`, `traffic`, `fabric` or `warning`.
        text: the event, in words.
        incident: number of the incident that it belongs to; None if it belongs to none.
    """

    number: int
    time_s: float
    kind: str
    text: str
    incident: int | None = None

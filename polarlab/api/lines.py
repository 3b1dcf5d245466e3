"""Results of verbs as the prompt prints them, where a result's own text is not for that."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from polarlab.api.verb import Shown

if TYPE_CHECKING:  # at run time only where Mininet is known to be there
    from experiments.results.parts.programs import TrafficOutcome
    from experiments.session.background import TrafficStatus
    from experiments.session.fabric_session import ControllerStatus
    from experiments.session.links import LinkLoad
    from polarlab.api.verbs import SessionVerbs
    from topology.faults import Element

_MOST_LOADS = 16
Do = functools.partial[Any]


# ---- failures ----


def failures(verbs: SessionVerbs) -> Shown:
    """Yields what has failed or is drained, and interfaces that a command of a node has set down."""
    session = verbs.session
    standing, down, drained = session.standing_failures(), session.interfaces_down(), session.drained()
    if standing or not (down or drained):
        yield _elements("failed", standing) or "nothing has failed"
    if drained:
        yield _elements("drained", drained)
    for interface in down:
        node = interface.partition("-")[0]
        yield f"{interface} is down; `{node} ip link set {interface} up` sets it up"


def drained(verbs: SessionVerbs) -> Shown:
    """Yields what is drained."""
    yield _elements("drained", verbs.session.drained()) or "nothing is drained"


def changes(word: str) -> Callable[[SessionVerbs, Do], Shown]:
    """Returns what shows the elements that a verb has changed, and those that were so before.

    Args:
        word: what the verb does to elements, as `failed`.
    """

    def show(verbs: SessionVerbs, do: Do) -> Shown:
        session = verbs.session
        before = session.standing_failures()
        names = do()
        elements = session.named(names if isinstance(names, str) else ",".join(names)) if names else ()
        if do.keywords.get("elements") == "all":
            yield _elements(word, elements) or "nothing to restore"
            return
        after = session.standing_failures()
        changed = [one for one in elements if _parts(one, before) != _parts(one, after)]
        if changed:
            yield _elements(word, changed)
        for one in elements:
            if one not in changed:
                yield f"{one.name} {'has failed already' if word == 'failed' else 'has not failed'}"

    return show


def drain(_verbs: SessionVerbs, do: Do) -> Shown:
    """Yields what a drain has cut off, and its outcome."""
    outcome = do()
    for part in outcome.cut_off:
        yield f"nothing but drained elements connects {', '.join(part)}"
    yield str(outcome)


def _elements(word: str, elements: Iterable[Element]) -> str:
    """Returns the line that names elements behind a word; empty without any."""
    names = ", ".join(element.name for element in elements)
    return f"{word}: {names}" if names else ""


def _parts(element: Element, failures: Iterable[Element]) -> set[Element]:
    """Returns the failures that an element names; one that names all links between two switches, each."""
    return {
        failure
        for failure in failures
        if (failure.kind, failure.routers, failure.host) == (element.kind, element.routers, element.host)
        and element.copy in (0, failure.copy)
    }


# ---- the controller ----


def controller_changed(verbs: SessionVerbs, do: Do) -> Shown:
    """Yields how long the controller took to be in charge, if it was started, and its state."""
    seconds = do()
    if seconds is not None:
        yield f"the controller was in charge after {seconds:.1f} s"
    yield _controller(verbs.controller())


def controller(_verbs: SessionVerbs, do: Do) -> Shown:
    """Yields the state of the controller."""
    yield _controller(do())


def _controller(status: ControllerStatus) -> str:
    if status.running:
        plan = "for the whole fabric"
        if status.planned_failure != "none":
            plan = f"for the failure of {status.planned_failure}"
        if status.planned_drain != "none":
            plan += f", around {status.planned_drain} (drained)"
        return f"the controller runs (process {status.pid}); its plan is {plan}"
    reason = "was killed" if status.killed else "has ended by itself"
    return f"the controller {reason}; switches keep their rules, `controller start` starts it"


# ---- measurements ----


def drops(verbs: SessionVerbs, do: Do) -> Shown:
    """Yields a table of the ports that dropped packets, and a line for each host that may not send some."""
    drops = do()
    rows = [
        {"link": port.link, "port": port.port, "queue": port.queue_packets, "lost": port.lost_packets}
        for port in drops.ports
    ]
    if rows:
        yield rows
    for host, packets in drops.ingress.items():
        yield f"{packets} packets of {host} that it may not send were dropped at its switch's port"
    if not rows and not drops.ingress:
        yield "nothing was dropped"
    yield from _missing_ports(verbs)


def loads(verbs: SessionVerbs, do: Do) -> Shown:
    """Yields a table of the highest loads of links that carried anything."""
    loads: Sequence[LinkLoad] = do()
    rows = [
        {
            "link": load.link,
            "port": load.port,
            "load": f"{load.load:.3f}",
            "Mbit/s": f"{load.rate_bps / 1e6:.3f}",
            "waiting": load.waiting_packets,
            "dropped": load.dropped_packets,
        }
        for load in loads[:_MOST_LOADS]
        if load.rate_bps > 0 or load.dropped_packets
    ]
    yield rows or "no link carried anything"
    yield from _missing_ports(verbs)


def _missing_ports(verbs: SessionVerbs) -> Shown:
    for link in verbs.session.missing_ports():
        yield f"{link} is not measured: the interface of its port does not exist"


# ---- background traffic ----


def traffic_started(_verbs: SessionVerbs, do: Do) -> Shown:
    """Yields what traffic flows from now on."""
    do()
    pattern, load = do.keywords["pattern"], do.keywords["load"]
    yield f"{pattern} traffic flows at {load:g} of the hosts' capacity, until `traffic stop`"


def traffic_stopped(verbs: SessionVerbs, do: Do) -> Shown:
    """Stops the measurement of the page if there is one, else the traffic, and yields its outcome."""
    if verbs.session.turns.measuring:
        verbs.stop_measurement()
        yield "the measurement stops; its folder keeps what was measured"
        return
    yield _outcome(do())


def traffic_status(verbs: SessionVerbs, do: Do) -> Shown:
    """Yields the measurement that has the fabric for itself, or the present rates of the traffic."""
    yield str(verbs.session.turns.measuring or traffic_line(do()))


def traffic_line(status: TrafficStatus | None) -> str:
    """Returns the present rates of background traffic."""
    if status is None:
        return "no background traffic flows; `traffic start` begins some"
    loss = "-" if status.loss is None else f"{status.loss:.2%}"
    return (
        f"{status.pattern} at {status.load:g} for {status.seconds:.1f} s: offered {status.offered:.3f}, "
        f"accepted {status.accepted:.3f}, loss {loss}, p99 {_milliseconds(status.latency_p99_ms)}"
    )


def _outcome(outcome: TrafficOutcome) -> str:
    loss = "-" if outcome.loss is None else f"{outcome.loss:.2%}"
    return (
        f"{outcome.pattern} at {outcome.load:g} for {outcome.seconds:.1f} s: {outcome.received_packets} of "
        f"{outcome.sent_packets} packets arrived (loss {loss}), offered {outcome.offered:.3f}, accepted "
        f"{outcome.accepted:.3f}, latency mean {_milliseconds(outcome.latency_mean_ms)}, "
        f"p99 {_milliseconds(outcome.latency_p99_ms)}"
    )


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g} ms"

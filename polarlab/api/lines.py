"""Texts with which the prompt prints results of verbs that have no text of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from polarlab.api.verb import Shown

if TYPE_CHECKING:  # imported at run time only after the check for Mininet
    from experiments.results.parts.programs import TrafficOutcome
    from experiments.session.background import TrafficStatus
    from experiments.session.fabric_session import ControllerStatus
    from experiments.session.links import LinkLoad
    from polarlab.api.verbs import SessionVerbs
    from topology.faults import Component

_MAX_LOADS = 16
Do = functools.partial[Any]


# ---- failures ----


def failures(verbs: SessionVerbs) -> Shown:
    """Yields failed and drained components, and interfaces that a program on a node has set down."""
    session = verbs.session
    active_failures, down, drained = session.active_failures(), session.interfaces_down(), session.drained()
    if active_failures or not (down or drained):
        yield _components("failed", active_failures) or "nothing has failed"
    if drained:
        yield _components("drained", drained)
    for interface in down:
        node = interface.partition("-")[0]
        yield f"{interface} is down; restore it with `{node} ip link set {interface} up`"


def drained(verbs: SessionVerbs) -> Shown:
    """Yields the drained components."""
    yield _components("drained", verbs.session.drained()) or "nothing is drained"


def changes(word: str) -> Callable[[SessionVerbs, Do], Shown]:
    """Returns a function that shows which components a verb has changed, and which it left unchanged.

    Args:
        word: the state that the verb causes, such as `failed`.
    """

    def show(verbs: SessionVerbs, do: Do) -> Shown:
        session = verbs.session
        before = session.active_failures()
        names = do()
        components = session.named(names if isinstance(names, str) else ",".join(names)) if names else ()
        if do.keywords.get("elements") == "all":
            yield _components(word, components) or "nothing to restore"
            return
        after = session.active_failures()
        differing = {*before} ^ {*after}
        changed = [one for one in components if any(map(one.includes, differing))]
        if changed:
            yield _components(word, changed)
        for one in components:
            if one not in changed:
                yield f"{one.name} {'has failed already' if word == 'failed' else 'has not failed'}"

    return show


def drain(_verbs: SessionVerbs, do: Do) -> Shown:
    """Yields a line for each group of switches that a drain cut off, then the drain's outcome."""
    outcome = do()
    for part in outcome.cut_off:
        yield f"only drained components connect {', '.join(part)} to the rest of the fabric"
    yield str(outcome)


def _components(word: str, components: Iterable[Component]) -> str:
    """Returns a line with a word and the names of components; empty if there are none."""
    names = ", ".join(component.name for component in components)
    return f"{word}: {names}" if names else ""


# ---- the controller ----


def controller_changed(verbs: SessionVerbs, do: Do) -> Shown:
    """Starts or kills the controller; after a start, yields the time until it had control; then its state."""
    seconds = do()
    if seconds is not None:
        yield f"the controller was in control after {seconds:.1f} s"
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
    reason = "was killed" if status.killed else "ended by itself"
    return f"the controller {reason}; switches keep their rules; `controller start` starts it"


# ---- measurements ----


def drops(verbs: SessionVerbs, do: Do) -> Shown:
    """Yields a table of ports that dropped packets, and a line for each host that sent forbidden packets."""
    drops = do()
    rows = [
        {"link": port.link, "port": port.port, "queue": port.queue_packets, "lost": port.lost_packets}
        for port in drops.ports
    ]
    if rows:
        yield rows
    for host, packets in drops.ingress.items():
        yield f"{packets} forbidden packets of {host} were dropped at its switch's port"
    if not rows and not drops.ingress:
        yield "nothing was dropped"
    yield from _missing_ports(verbs)


def loads(verbs: SessionVerbs, do: Do) -> Shown:
    """Yields a table of the highest loads among links that carried packets."""
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
        for load in loads[:_MAX_LOADS]
        if load.rate_bps > 0 or load.dropped_packets
    ]
    yield rows or "no link carried packets"
    yield from _missing_ports(verbs)


def _missing_ports(verbs: SessionVerbs) -> Shown:
    for link in verbs.session.missing_ports():
        yield f"{link} is not measured: its port has no interface"


# ---- background traffic ----


def traffic_started(_verbs: SessionVerbs, do: Do) -> Shown:
    """Starts background traffic, and yields its pattern and load."""
    do()
    pattern, load = do.keywords["pattern"], do.keywords["load"]
    yield f"{pattern} traffic runs at {load:g} of the hosts' capacity until `traffic stop`"


def traffic_stopped(verbs: SessionVerbs, do: Do) -> Shown:
    """Stops the page's measurement if there is one, otherwise the traffic, and yields the outcome."""
    if verbs.session.turns.measuring:
        verbs.stop_measurement()
        yield "the measurement stops; its folder keeps the results so far"
        return
    yield _outcome(do())


def traffic_status(verbs: SessionVerbs, do: Do) -> Shown:
    """Yields the running measurement, or else the current rates of the traffic."""
    yield str(verbs.session.turns.measuring or traffic_line(do()))


def traffic_line(status: TrafficStatus | None) -> str:
    """Describes the current rates of background traffic."""
    if status is None:
        return "no background traffic is running; `traffic start` starts it"
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

"""Results of a session's verbs as lines for people."""

from __future__ import annotations

from collections.abc import Iterable

from polarlab.api.command_line.session import (
    ControllerStatus,
    Element,
    LinkLoad,
    TrafficOutcome,
    TrafficStatus,
)

_MOST_LOADS = 16


def element_line(verb: str, elements: Iterable[Element], otherwise: str) -> str:
    """Returns the line that names elements behind a verb, or another one if there are none."""
    names = ", ".join(element.name for element in elements)
    return f"{verb}: {names}" if names else otherwise


def parts_of(element: Element, failures: Iterable[Element]) -> set[Element]:
    """Returns the failures that an element names; one that names all links between two switches, each."""
    return {
        failure
        for failure in failures
        if (failure.kind, failure.routers, failure.host) == (element.kind, element.routers, element.host)
        and element.copy in (0, failure.copy)
    }


def controller_line(status: ControllerStatus) -> str:
    """Returns the state of the controller."""
    if status.running:
        plan = "for the whole fabric"
        if status.planned_failure != "none":
            plan = f"for the failure of {status.planned_failure}"
        if status.planned_drain != "none":
            plan += f", around {status.planned_drain} (drained)"
        return f"the controller runs (process {status.pid}); its plan is {plan}"
    reason = "was killed" if status.killed else "has ended by itself"
    return f"the controller {reason}; switches keep their rules, `controller start` starts it"


def load_rows(loads: Iterable[LinkLoad]) -> list[dict[str, object]]:
    """Returns the rows of a table of loads: the highest of the links that carried anything."""
    return [
        {
            "link": load.link,
            "port": load.port,
            "load": f"{load.load:.3f}",
            "Mbit/s": f"{load.rate_bps / 1e6:.3f}",
            "waiting": load.waiting_packets,
            "dropped": load.dropped_packets,
        }
        for load in list(loads)[:_MOST_LOADS]
        if load.rate_bps > 0 or load.dropped_packets
    ]


def traffic_line(status: TrafficStatus | None) -> str:
    """Returns the present rates of background traffic."""
    if status is None:
        return "no background traffic flows; `traffic start` begins some"
    loss = "-" if status.loss is None else f"{status.loss:.2%}"
    return (
        f"{status.pattern} at {status.load:g} for {status.seconds:.1f} s: offered {status.offered:.3f}, "
        f"accepted {status.accepted:.3f}, loss {loss}, p99 {_milliseconds(status.latency_p99_ms)}"
    )


def outcome_line(outcome: TrafficOutcome) -> str:
    """Returns the result of background traffic that was stopped."""
    loss = "-" if outcome.loss is None else f"{outcome.loss:.2%}"
    return (
        f"{outcome.pattern} at {outcome.load:g} for {outcome.seconds:.1f} s: {outcome.received_packets} of "
        f"{outcome.sent_packets} packets arrived (loss {loss}), offered {outcome.offered:.3f}, accepted "
        f"{outcome.accepted:.3f}, latency mean {_milliseconds(outcome.latency_mean_ms)}, "
        f"p99 {_milliseconds(outcome.latency_p99_ms)}"
    )


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g} ms"

"""Laws by which simulated sources decide between minimal path and detours, for every packet or every flow."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.spec.values import check_choice
from topology.errors import UsageError
from topology.parameters import Parameter, Value, join_parameters, split_parameters
from traffic.wire.layout import MAX_FLOWS

MINIMAL, BUCKETS, PRODUCT, PIGGYBACK = "minimal", "buckets", "product", "piggyback"
COMPARING = (PRODUCT, PIGGYBACK)  # laws that compare occupancy times hops
_CANDIDATES = Parameter(
    name="candidates",
    type=int,
    help="random detours that a packet compares with its minimal path",
    least=1,
    most=16,
    default=4,
)
# Laws of decisions by their names, with their parameters.
DECISIONS: Mapping[str, tuple[Parameter, ...]] = {
    MINIMAL: (),
    "threshold": (
        Parameter(
            name="threshold",
            type=float,
            help="occupancy of the minimal path's output above which a packet takes a detour",
            unit="buffers of a virtual channel, or queues",
            above=0,
            most=16,
            default=2 / 3,
            default_text="2/3",
        ),
    ),
    PRODUCT: (
        _CANDIDATES,
        Parameter(
            name="whole-path",
            type=bool,
            help="whether the queues of the whole path count (UGAL-G), not the first alone (UGAL-L)",
            default=False,
        ),
    ),
    PIGGYBACK: (
        _CANDIDATES,
        Parameter(
            name="margin",
            type=float,
            help="occupancy over twice the mean of its router's global links at which one is congested",
            unit="buffers of a virtual channel",
            least=0,
            most=16,
            default=1 / 8,
            default_text="1/8",
        ),
    ),
    BUCKETS: (
        Parameter(
            name="period",
            type=int,
            help="time between two steps of the routing's control law, which re-points buckets of flows",
            unit="cycles",
            least=1,
            most=1_000_000,
            default=100,
        ),
        Parameter(
            name="flows",
            type=int,
            help="flows of each pair of hosts, one of which a packet belongs to",
            least=1,
            most=MAX_FLOWS,
            default=64,
        ),
    ),
}


def decision_name(text: str) -> str:
    """Returns the name of a law of decisions with its parameters, the same for all texts that mean the same.

    Raises:
        UsageError: the law is unknown, or has no such parameter.
        ParameterError: the value of a parameter is outside its domain.
    """
    name = text.partition(":")[0]
    check_choice("decision", name, DECISIONS)
    given: Mapping[str, Value] = split_parameters(text, DECISIONS[name])[1]
    return join_parameters(name, given, DECISIONS[name])


def check_given_once(decision: str | None, routing: str, given: Mapping[str, Value]) -> None:
    """Raises UsageError if a decision and the name of a routing give one parameter two values.

    Args:
        decision: name of the law of decisions, with its parameters; None where it is the routing's own.
        routing: name of the routing, with its parameters.
        given: the parameters that the name of the routing gives.
    """
    if decision is None:
        return
    parameters = DECISIONS[decision.partition(":")[0]]
    values = split_parameters(decision, parameters)[1]
    for parameter in parameters:
        if parameter.key in given and given[parameter.key] != values[parameter.key]:
            raise UsageError(
                f"{parameter.name} is given twice, in --routing {routing} and in --decision {decision}; "
                "leave it out of the routing's name"
            )

"""Decision rules by which simulated sources choose between minimal path and detours."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.spec.values import check_choice
from routing.algorithms.packet_law import BUFFER, NEIGHBOUR
from topology.errors import UsageError
from topology.parameters import Parameter, Value, join_parameters, spelled, split_parameters, value_text
from traffic.wire.layout import MAX_FLOWS

MINIMAL, BUCKETS, PRODUCT, PIGGYBACK = "minimal", "buckets", "product", "piggyback"
COMPARING = (PRODUCT, PIGGYBACK)  # rules that compare paths by occupancy multiplied by hops
_CANDIDATES = Parameter(
    name="candidates",
    type=int,
    help="number of random detours compared with the minimal path",
    least=1,
    most=16,
    default=4,
)
# Names of decision rules -> their parameters.
DECISIONS: Mapping[str, tuple[Parameter, ...]] = {
    MINIMAL: (),
    "threshold": (
        Parameter(
            name="threshold",
            type=float,
            help="occupancy of the minimal path's output port above which a packet takes a detour",
            unit="buffers, or queues",
            above=0,
            most=16,
            default=2 / 3,
            default_text="2/3",
        ),
        NEIGHBOUR,
        BUFFER,
    ),
    PRODUCT: (
        _CANDIDATES,
        Parameter(
            name="whole-path",
            type=bool,
            help="compare the queues of the whole path (UGAL-G) instead of the first one (UGAL-L)",
            default=False,
        ),
    ),
    PIGGYBACK: (
        _CANDIDATES,
        Parameter(
            name="margin",
            type=float,
            help="a global link is congested if more than this above twice its router's mean occupancy",
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
            help="time between steps of the routing's control law, which remaps buckets of flows",
            unit="cycles",
            least=1,
            most=1_000_000,
            default=100,
        ),
        Parameter(
            name="flows",
            type=int,
            help="number of flows per pair of hosts",
            least=1,
            most=MAX_FLOWS,
            default=64,
        ),
    ),
}


def decision_name(text: str) -> str:
    """Returns the canonical name of a decision rule with its parameters.

    Raises:
        UsageError: the rule is unknown, or has no such parameter.
        ParameterError: the value of a parameter is outside its domain.
    """
    name = spelled(text.partition(":")[0], DECISIONS)
    check_choice("decision", name, DECISIONS)
    given: Mapping[str, Value] = split_parameters(text, DECISIONS[name])[1]
    return join_parameters(name, given, DECISIONS[name])


def check_given_once(decision: str | None, routing: str, given: Mapping[str, Value]) -> None:
    """Raises UsageError if a decision rule and the routing set the same parameter to different values.

    Args:
        decision: canonical name of the decision rule; None for the routing's own rule. A parameter that it
            leaves out has its default.
        routing: name of the routing, with its parameters.
        given: the non-default parameters of the routing that apply per packet.
    """
    if decision is None:
        return
    parameters = DECISIONS[decision.partition(":")[0]]
    values = split_parameters(decision, parameters)[1]
    for parameter in parameters:
        key = parameter.key
        if key in given and given[key] != values.get(key, parameter.default):
            decided = value_text(values[key]) if key in values else parameter.default_in_words
            raise UsageError(
                f"{parameter.name} is {value_text(given[key])} in --routing {routing} but {decided} in "
                f"--decision {decision}; give it in --decision only"
            )

"""Laws by which simulated sources decide for every packet between minimal path and detours."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.spec.values import check_choice
from topology.parameters import Parameter, Value, join_parameters, split_parameters

MINIMAL = "minimal"
# Laws of decisions for every packet, by their names, with their parameters.
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
    "product": (
        Parameter(
            name="candidates",
            type=int,
            help="random detours that a packet compares with its minimal path",
            least=1,
            most=16,
            default=4,
        ),
        Parameter(
            name="whole-path",
            type=bool,
            help="whether the queues of the whole path count (UGAL-G), not the first alone (UGAL-L)",
            default=False,
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

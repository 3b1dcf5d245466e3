"""Routing parameters that can change while a fabric is up: parameters of the adaptive control law."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from routing.algorithms.bucket_control import CONTROL_PARAMETERS
from routing.algorithms.routing import Routing
from routing.registry import routing as routing_named
from topology.errors import UsageError
from topology.parameters import Parameter, Value, hint, join_parameters, value_text


@dataclass(frozen=True)
class RoutingStatus:
    """The current routing of a fabric; printing it shows the parameters.

    Attributes:
        name: its name with non-default parameters, like `ugal-pf:threshold=0.5`.
        launched: its name when the fabric was launched.
        values: parameter -> value, for those that can change while the fabric is up; empty if the routing
            does not adapt.
    """

    name: str
    launched: str
    values: Mapping[str, Value]

    def __str__(self) -> str:
        lines = [f"routing {self.name}" + ("" if self.name == self.launched else f", was {self.launched}")]
        if not self.values:
            lines += ["it does not adapt: none of its parameters can change while the fabric is up"]
        return "\n".join(lines + [f"  {key}={value_text(value)}" for key, value in self.values.items()])


def changeable_parameters(routing: Routing) -> tuple[Parameter, ...]:
    """Returns the parameters of a routing's adaptive control law, which do not affect rules on switches."""
    return () if routing.oblivious else (*routing.law_parameters, *CONTROL_PARAMETERS)


def changed_routing(name: str, values: Mapping[str, Value]) -> str:
    """Returns the name of a routing whose parameters have changed.

    Args:
        name: its name with its current parameters.
        values: parameter -> its new value, as text or as a value; other parameters keep theirs.

    Raises:
        UsageError: the routing has no such parameter, or the parameter cannot change while the fabric is up.
        ParameterError: a value is outside its domain.
    """
    present = routing_named(name)
    by_key = {parameter.key: parameter for parameter in changeable_parameters(present)}
    known = ", ".join(parameter.name for parameter in by_key.values())
    family = name.partition(":")[0]
    if not by_key:
        raise UsageError(f"{family} does not adapt: none of its parameters can change while the fabric is up")
    if not values:
        raise UsageError(
            f"parameters of {family} must be given, such as {next(iter(by_key.values())).name}=0.5"
        )
    given = dict(present.given)
    for word, value in values.items():
        key = word.replace("-", "_")
        if key in {parameter.key for parameter in present.plan_parameters}:
            raise UsageError(
                f"{word} is part of the installed rules and cannot change while the fabric is up; {known} can"
            )
        if key not in by_key:
            raise UsageError(f"parameter of {family} must be one of {known}, got {word!r}{hint(key, by_key)}")
        parameter = by_key[key]
        given[key] = parameter.read(value) if isinstance(value, str) else parameter.check(value)
    return join_parameters(family, given, present.parameters)


def parse_assignments(text: str) -> dict[str, str]:
    """Parses assignments like `threshold=0.5,release=0.2`, separated by commas or blanks.

    Raises:
        UsageError: a word is not PARAMETER=VALUE, or a parameter is given twice.
    """
    values: dict[str, str] = {}
    for word in text.replace(",", " ").split():
        name, _, value = word.partition("=")
        if not (name and value):
            raise UsageError(f"parameters must be like threshold=0.5, got {word!r}")
        if name in values:
            raise UsageError(f"{name} must be given once, got {text!r}")
        values[name] = value
    return values

"""Adaptation of a fabric that is up: parameters of its routing that change while it runs, without a rule."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from experiments.live_fabric import LiveFabric
from experiments.session.turns import one_at_a_time
from routing.registry import routing as routing_named
from topology.errors import UsageError
from topology.parameters import Value, hint, join_parameters, value_text


@dataclass(frozen=True)
class RoutingStatus:
    """The routing of a fabric as it is now; print it.

    Attributes:
        name: its name with those parameters that have not their defaults, as `ugal-pf:threshold=0.5`.
        launched: its name as the fabric was launched.
        values: parameter -> value, of those that can change while the fabric is up; none of a routing that
            does not adapt.
    """

    name: str
    launched: str
    values: Mapping[str, Value]

    def __str__(self) -> str:
        lines = [f"routing {self.name}" + ("" if self.name == self.launched else f", was {self.launched}")]
        if not self.values:
            lines += ["it does not adapt: nothing of it can change while the fabric is up"]
        return "\n".join(lines + [f"  {key}={value_text(value)}" for key, value in self.values.items()])


def changed_routing(name: str, values: Mapping[str, Value]) -> str:
    """Returns the name of a routing whose parameters have changed.

    Args:
        name: its name with the parameters that hold now.
        values: parameter -> its new value, as a text or as it is; those that are absent stay.

    Raises:
        UsageError: the routing has not such a parameter, or it cannot change while the fabric is up.
        ParameterError: a value is outside its domain.
    """
    present = routing_named(name)
    by_key = {parameter.key: parameter for parameter in present.changeable_parameters}
    known = ", ".join(parameter.name for parameter in by_key.values())
    family = name.partition(":")[0]
    if not by_key:
        raise UsageError(f"{family} does not adapt: none of its parameters can change while the fabric is up")
    if not values:
        raise UsageError(f"parameters of {family} must be given, as {next(iter(by_key.values())).name}=0.5")
    given = dict(present.given)
    for word, value in values.items():
        key = word.replace("-", "_")
        if key in {parameter.key for parameter in present.plan_parameters}:
            raise UsageError(
                f"{word} is part of what the switches hold, and cannot change while the fabric is up; "
                f"{known} can"
            )
        if key not in by_key:
            raise UsageError(f"parameter of {family} must be one of {known}, got {word!r}{hint(key, by_key)}")
        parameter = by_key[key]
        given[key] = parameter.read(value) if isinstance(value, str) else parameter.check(value)
    return join_parameters(family, given, present.parameters)


def parse_assignments(text: str) -> dict[str, str]:
    """Returns the parameters and values of a text like `threshold=0.5,release=0.2`, or with blanks between.

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


class AdaptationVerbs:
    """Verbs of a session on the parameters of an adaptive routing.

    Attributes:
        fabric: the fabric.
        acting: held by verbs that change the fabric.
        measured: whether traffic is measured, whose results would not name a change.
    """

    fabric: LiveFabric
    acting: threading.RLock
    measured: bool

    @contextlib.contextmanager
    def measuring(self) -> Iterator[None]:
        """Notes that traffic is measured during the block."""
        self.measured = True
        try:
            yield
        finally:
            self.measured = False

    def routing_status(self) -> RoutingStatus:
        """Returns the routing with the parameters that hold now."""
        name = self.fabric.controller.routing
        present = routing_named(name)
        values = {one.name: present.given.get(one.key, one.default) for one in present.changeable_parameters}
        known = {key: value for key, value in values.items() if value is not None}
        return RoutingStatus(present.name, self.fabric.options.routing, known)

    @one_at_a_time
    def set_routing(self, values: Mapping[str, Value]) -> RoutingStatus:
        """Has the adaptation go on with other parameters, without a change of any rule.

        Args:
            values: parameter -> its new value, as `{"threshold": 0.5}`; those that are absent stay.

        Raises:
            UsageError: the routing has not such a parameter, it cannot change while the fabric is up, traffic
                is measured, or the controller does not run.
            ParameterError: a value is outside its domain.
            PolarLabError: the controller ends or does not answer.
        """
        controller = self.fabric.controller
        name = changed_routing(controller.routing, values)
        if self.measured:
            raise UsageError("a measurement has the fabric for itself; wait until it has ended")
        if not controller.running:
            raise UsageError("the controller must run to change the routing's parameters; start it first")
        controller.wait_until_in_charge()
        controller.set_routing(name)
        return self.routing_status()

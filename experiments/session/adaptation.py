"""Verbs of a session on the adaptation of its routing, which goes on with other parameters without a rule."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.live_fabric import LiveFabric
from experiments.session.routing_parameters import RoutingStatus, changeable_parameters, changed_routing
from experiments.session.turns import Turns, one_at_a_time
from routing.registry import routing as routing_named
from topology.errors import UsageError
from topology.parameters import Value


class AdaptationVerbs:
    """Verbs of a session on the parameters of an adaptive routing.

    Attributes:
        fabric: the fabric.
        turns: the turns of verbs and measurements.
    """

    fabric: LiveFabric
    turns: Turns

    def routing_status(self) -> RoutingStatus:
        """Returns the routing with the parameters that hold now."""
        name = self.fabric.controller.routing
        present = routing_named(name)
        values = {one.name: present.given.get(one.key, one.default) for one in changeable_parameters(present)}
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
        if not controller.running:
            raise UsageError("the controller must run to change the routing's parameters; start it first")
        controller.wait_until_in_charge()
        controller.set_routing(name)
        return self.routing_status()

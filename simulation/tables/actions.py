"""Effects of action lists: a packet's new tag and mark, and the group or port that receives it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from routing.interner import Interner
from routing.plan.model import (
    NO_VLAN,
    PORT_INGRESS,
    REROUTED_DSCP,
    Actions,
    DecrementTtl,
    Output,
    PopVlan,
    PushVlan,
    SetField,
    ToGroup,
)
from routing.plan.tables import router_of_tag
from simulation.tables.model import NO_TAG, inexpressible

Numbers = npt.NDArray[np.int64]

# A tag after an action list is a router, NO_TAG or one of these; a mark is 0, 1 or one of these.
KEPT = -2  # unchanged
INVALID = -3  # a value that the fabric does not use

# Targets of actions: 0 for none, -port for an output, group number + 1 for a group.
NO_TARGET = 0


def group_target(group: int) -> int:
    """Returns the target code of a group.

    Args:
        group: the group's number, from 0.
    """
    return group + 1


@dataclass(frozen=True, slots=True)
class ActionEffect:
    """The effect of an action list on packets: their fields afterwards, and the receiver.

    Attributes:
        tag: the router named by the packet's tag afterwards, NO_TAG, KEPT or INVALID.
        mark: the packet's mark afterwards, KEPT or INVALID.
        cleared: whether the packet's ingress port is cleared.
        target: the group or port that receives the packet.
        problem: the reason why forwarding tables cannot express the actions, or "".
    """

    tag: int
    mark: int
    cleared: bool
    target: int
    problem: str


@dataclass(frozen=True)
class ActionColumns:
    """The effects of action lists as arrays, by number of the list."""

    tag: Numbers
    mark: Numbers
    cleared: npt.NDArray[np.bool_]
    target: Numbers
    faulty: npt.NDArray[np.bool_]


class ActionRegistry:
    """Numbers the action lists of all switches; equal lists have the same number.

    Attributes:
        effects: the effects by number.
    """

    def __init__(self, routers: int) -> None:
        """Creates an empty registry.

        Args:
            routers: N, the number of routers that tags may name.
        """
        self.effects: list[ActionEffect] = []
        self._routers = routers
        self._numbers: Interner[Actions, int] = Interner(self._add)
        numbers, flags = np.empty(0, np.int64), np.empty(0, bool)
        self._columns = ActionColumns(numbers, numbers, flags, numbers, flags)

    def numbers(self, actions: Iterable[Actions]) -> Numbers:
        """Returns the numbers of action lists.

        Args:
            actions: the lists; they must not change, because the registry recognizes them by identity.
        """
        return np.array(self._numbers.intern(actions), np.int64)

    def effect(self, actions: Actions) -> ActionEffect:
        """Returns the effect of an action list.

        Args:
            actions: the list.
        """
        return self.effects[self._numbers.one(actions)]

    def columns(self) -> ActionColumns:
        """Returns the effects of all registered lists as arrays."""
        known = self._columns
        if len(known.tag) < len(self.effects):
            new = self.effects[len(known.tag) :]
            self._columns = ActionColumns(
                np.append(known.tag, [one.tag for one in new]),
                np.append(known.mark, [one.mark for one in new]),
                np.append(known.cleared, [one.cleared for one in new]),
                np.append(known.target, [one.target for one in new]),
                np.append(known.faulty, [bool(one.problem) for one in new]),
            )
        return self._columns

    def _add(self, actions: Actions) -> int:
        self.effects.append(_effect(actions, self._routers))
        return len(self.effects) - 1


def check_effect(effect: ActionEffect, router: int) -> None:
    """Checks that forwarding tables can express the effect of an action list.

    Args:
        effect: the effect.
        router: the switch that has the list, for the error message.

    Raises:
        PlanError: forwarding tables cannot express it.
    """
    if effect.problem:
        raise inexpressible(router, effect.problem)


def _effect(actions: Actions, routers: int) -> ActionEffect:
    tag, mark, cleared, target, problem = KEPT, KEPT, False, *_target(actions)
    for action in actions:
        if isinstance(action, Output | ToGroup):
            break  # rewrites after an output do not change the packet that was output
        if isinstance(action, DecrementTtl):
            continue
        if isinstance(action, PopVlan):
            tag = NO_TAG
        elif isinstance(action, PushVlan):
            tag = INVALID
        elif isinstance(action, SetField) and action.field == "vlan_vid":
            tag = _tag(action.value, routers)
        elif isinstance(action, SetField) and action.field == "ip_dscp":
            mark = {0: 0, REROUTED_DSCP: 1}.get(action.value, INVALID)
        elif action == SetField("in_port", 0):
            cleared = True
        else:
            problem = f"its actions change a field that is not supported: {action}"
    return ActionEffect(tag, mark, cleared, target, problem)


def _target(actions: Actions) -> tuple[int, str]:
    """Returns the target of an action list, and the reason why tables cannot express it, or ""."""
    targets = [action for action in actions if isinstance(action, Output | ToGroup)]
    if not targets:
        return NO_TARGET, ""
    if len(targets) > 1:
        return NO_TARGET, f"its actions may copy a packet: {actions}"
    [target] = targets
    if isinstance(target, ToGroup):
        return group_target(target.group), ""
    if target.port == PORT_INGRESS:
        return NO_TARGET, f"it sends a packet back to its ingress port: {actions}"
    return -target.port, ""


def _tag(vlan_vid: int, routers: int) -> int:
    """Returns the router named by a value of `vlan_vid`, NO_TAG or INVALID."""
    if vlan_vid == NO_VLAN:
        return NO_TAG
    router = router_of_tag(vlan_vid)
    return router if 0 <= router < routers else INVALID

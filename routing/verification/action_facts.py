"""Facts about the actions of rules and buckets, read once for all switches."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from routing.plan.model import Action, Actions, CopyBits, LoadBits, Output, SetField, ToGroup


@dataclass(frozen=True, eq=False, slots=True)
class ActionFacts:
    """Facts about a list of actions; equal lists of different switches share one object.

    Attributes:
        actions: the actions.
        number: a number that identifies these facts.
        groups: the numbers of the groups that the actions name.
        rewrites: the actions before the first output or group.
        last_group: the number of the group, if the last action is the only one that names a group and nothing
            is output; None otherwise.
        returns: the ports to which packets may be output before their ingress port is cleared; output to the
            ingress port itself is dropped.
        returning_groups: the groups to which packets may be passed before their ingress port is cleared.
        forbidden: the first action that changes the destination of packets or copies fields that must not be
            copied, and these fields; None if there is none.
    """

    actions: Actions
    number: int
    groups: tuple[int, ...]
    rewrites: Actions
    last_group: int | None
    returns: frozenset[int]
    returning_groups: tuple[int, ...]
    forbidden: tuple[Action, frozenset[str]] | None

    @classmethod
    def of(cls, actions: Actions, number: int, guarded: Collection[str]) -> ActionFacts:
        """Returns the facts about actions.

        Args:
            actions: the actions of a rule or a bucket.
            number: the number of the facts.
            guarded: the fields that actions must not change or copy, except for changes of the ingress port.
        """
        ends = [index for index, action in enumerate(actions) if isinstance(action, Output | ToGroup)]
        first = ends[0] if ends else len(actions)
        last = actions[-1] if ends == [len(actions) - 1] else None
        clears = (
            i
            for i, action in enumerate(actions)
            if isinstance(action, SetField) and action.field == "in_port"
        )
        before = actions[: next(clears, len(actions))]
        touched = ((action, _fields_changed_or_copied(action).intersection(guarded)) for action in actions)
        return cls(
            actions,
            number,
            tuple([action.group for action in actions if isinstance(action, ToGroup)]),
            actions[:first],
            last.group if isinstance(last, ToGroup) else None,
            frozenset([action.port for action in before if isinstance(action, Output)]),
            tuple([action.group for action in before if isinstance(action, ToGroup)]),
            next(((action, frozenset(fields)) for action, fields in touched if fields), None),
        )


def _fields_changed_or_copied(action: object) -> set[str]:
    if isinstance(action, CopyBits):
        return {action.source, action.target}
    if isinstance(action, SetField) and action.field != "in_port":
        return {action.field}
    return {action.target} if isinstance(action, LoadBits) else set()

"""The rules and groups of a switch as columns, by which large fabrics are planned and proven."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from routing.plan.group_columns import GroupColumns
from routing.plan.model import Group, Rule, SwitchPlan
from routing.plan.rule_store import RuleStore


@dataclass(frozen=True, eq=False, slots=True)
class SwitchColumns:
    """The rules and groups of a switch.

    Attributes:
        store: the rules of the fabric.
        rules: the numbers of the switch's rules in the store, in their order.
        groups: the groups in their order, in parts of which some are columns.
    """

    store: RuleStore
    rules: npt.NDArray[np.intp]
    groups: tuple[Sequence[Group], ...]

    def made_rules(self) -> tuple[Rule, ...]:
        """Returns the rules."""
        return self.store.rules(self.rules)

    def made_groups(self) -> tuple[Group, ...]:
        """Returns the groups."""
        return tuple(chain.from_iterable(self.groups))

    def counts(self) -> tuple[int, int, int]:
        """Returns the numbers of rules, of groups and of their buckets."""
        buckets = (
            len(part.members) if isinstance(part, GroupColumns) else sum(len(group.buckets) for group in part)
            for part in self.groups
        )
        return len(self.rules), sum(map(len, self.groups)), sum(buckets)


def group_parts(switch: SwitchPlan) -> tuple[Sequence[Group], ...]:
    """Returns the groups of a switch, in parts of which some may be columns.

    Args:
        switch: the plan of any switch.
    """
    columns = switch.columns
    return columns.groups if isinstance(columns, SwitchColumns) else (switch.groups,)

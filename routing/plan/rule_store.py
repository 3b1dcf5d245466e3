"""The distinct rules of a fabric's switches as columns; a rule becomes an object when it is read.

The switches of a large fabric have millions of rules, half a million of them distinct, composed of a few
thousand matches and actions. Columns let plans and proofs process them all at once; only code that installs
or shows rules needs them as objects.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from routing.plan.model import Actions, Match, Rule, Table

Numbers = npt.NDArray[np.intp]

_NO_TABLE = -1


@dataclass(frozen=True)
class RuleColumns:
    """Rules, indexed by their numbers in a store.

    Attributes:
        table: the rule's table.
        priority: its priority.
        match: the index of its match in `RuleStore.matches`.
        actions: the index of its actions in `RuleStore.actions`.
        goto: the table in which packets continue; -1 if they do not.
    """

    table: Numbers
    priority: Numbers
    match: Numbers
    actions: Numbers
    goto: Numbers


class RuleStore:
    """The rules of a fabric's switches, numbered in the order in which they are added.

    Attributes:
        matches: the matches of the rules, each object once.
        actions: the action lists of the rules, each object once.
    """

    def __init__(self) -> None:
        """Creates an empty store."""
        self.matches: list[Match] = []
        self.actions: list[Actions] = []
        self._match_index: dict[int, int] = {}  # by identity; the store keeps the objects alive
        self._actions_index: dict[int, int] = {}
        # One row for each rule: table, priority, match, actions, goto; the newest rows have no chunk yet.
        self._chunks: list[npt.NDArray[np.intp]] = []
        self._loose: list[tuple[int, int, int, int, int]] = []
        self._count = 0
        self._columns: RuleColumns | None = None
        self._rules: dict[int, Rule] = {}  # rules that are objects, by number
        self._number_of: dict[int, int] = {}  # their numbers, by identity

    def __len__(self) -> int:
        """Returns the number of rules."""
        return self._count

    def match_index(self, match: Match) -> int:
        """Returns the index of a match in `matches`.

        Args:
            match: the match.
        """
        found = self._match_index.get(id(match))
        if found is None:
            found = self._match_index[id(match)] = len(self.matches)
            self.matches.append(match)
        return found

    def actions_index(self, actions: Actions) -> int:
        """Returns the index of a list of actions in `actions`.

        Args:
            actions: the actions.
        """
        found = self._actions_index.get(id(actions))
        if found is None:
            found = self._actions_index[id(actions)] = len(self.actions)
            self.actions.append(actions)
        return found

    def add(self, rules: Iterable[Rule]) -> list[int]:
        """Returns the numbers of rules, after adding the rules whose objects are new to the store.

        Args:
            rules: the rules.
        """
        return [self._number(rule) for rule in rules]

    def add_columns(self, table: Table, priority: int, matches: Numbers, actions: Numbers) -> int:
        """Adds rules of one table that have no `goto`.

        Args:
            table: the table.
            priority: the priority of all these rules.
            matches: for each rule, the index of its match.
            actions: for each rule, the index of its actions.

        Returns:
            The number of the first rule; the others follow.
        """
        self._flush()
        rows = np.empty((len(matches), 5), np.intp)
        rows[:, 0] = table
        rows[:, 1] = priority
        rows[:, 2] = matches
        rows[:, 3] = actions
        rows[:, 4] = _NO_TABLE
        self._chunks.append(rows)
        self._columns = None
        first, self._count = self._count, self._count + len(rows)
        return first

    def columns(self) -> RuleColumns:
        """Returns all rules as columns."""
        if self._columns is None:
            self._flush()
            rows = np.concatenate([*self._chunks, np.empty((0, 5), np.intp)])
            self._chunks = [rows]
            self._columns = RuleColumns(*np.ascontiguousarray(rows.T))
        return self._columns

    def rule(self, number: int) -> Rule:
        """Returns a rule as an object, the same object on every call.

        Args:
            number: the rule's number.
        """
        rule = self._rules.get(number)
        return self._build([number])[0] if rule is None else rule

    def rules(self, numbers: Numbers) -> tuple[Rule, ...]:
        """Returns rules as objects, the same objects on every call.

        Args:
            numbers: the rules' numbers.
        """
        listed = numbers.tolist()
        known = self._rules
        self._build([number for number in dict.fromkeys(listed) if number not in known])
        return tuple(map(known.__getitem__, listed))

    def number_of(self, rule: Rule) -> int | None:
        """Returns the number of a rule if the store has this very object, else None.

        Args:
            rule: the rule.
        """
        return self._number_of.get(id(rule))

    def _number(self, rule: Rule) -> int:
        known = self._number_of.get(id(rule))
        if known is not None:
            return known
        goto = _NO_TABLE if rule.goto is None else rule.goto
        row = (
            rule.table,
            rule.priority,
            self.match_index(rule.match),
            self.actions_index(rule.actions),
            goto,
        )
        self._loose.append(row)
        self._columns = None
        number, self._count = self._count, self._count + 1
        self._keep(number, rule)
        return number

    def _flush(self) -> None:
        if self._loose:
            self._chunks.append(np.array(self._loose, np.intp))
            self._loose = []

    def _build(self, numbers: list[int]) -> list[Rule]:
        """Builds the objects of rules that the store has only as rows, and remembers them."""
        columns, index = self.columns(), np.array(numbers, np.intp)
        fields = (columns.table, columns.priority, columns.match, columns.actions, columns.goto)
        rows = zip(numbers, *(field[index].tolist() for field in fields), strict=True)
        built = []
        for number, table, priority, match, actions, goto in rows:
            goto_table = None if goto == _NO_TABLE else _TABLES[goto]
            rule = Rule(_TABLES[table], priority, self.matches[match], self.actions[actions], goto_table)
            self._keep(number, rule)
            built.append(rule)
        return built

    def _keep(self, number: int, rule: Rule) -> None:
        self._rules[number] = rule
        self._number_of[id(rule)] = number


_TABLES = list(Table)

"""Rules that combine values of several seeds; the type annotation of a record's field contains its rule.

A field without a rule is a setting that is equal for all seeds; the first value is used.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

Record = TypeVar("Record")
Entry = TypeVar("Entry")
Number = TypeVar("Number", int, float)


def mean(values: Sequence[float]) -> float:
    """Returns the arithmetic mean of at least one value, rounded to six decimal places."""
    return round(math.fsum(values) / len(values), 6)


def total(values: Iterable[float]) -> float:
    """Returns a sum rounded to six decimal places."""
    return round(math.fsum(values), 6)


def joined(values: Iterable[Sequence[Entry]]) -> tuple[Entry, ...]:
    """Concatenates sequences."""
    return tuple(itertools.chain.from_iterable(values))


def by_key(tables: Sequence[Mapping[int, Number]], rule: Callable[[Sequence[Number]], Number]) -> Any:
    """Combines mappings by applying the rule to all values of each key; keys ascend."""
    keys = sorted({key for table in tables for key in table})
    return {key: rule([table[key] for table in tables if key in table]) for key in keys}


def sums_by_key(tables: Sequence[Mapping[int, int]]) -> dict[int, int]:
    """Returns the sum of the counts under each key."""
    counts: dict[int, int] = by_key(tables, sum)
    return counts


def means_by_key(tables: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """Returns the mean of the values under each key."""
    means: dict[int, float] = by_key(tables, mean)
    return means


def farthest(values: Sequence[float]) -> float:
    """Returns the value farthest from 0."""
    return max(values, key=abs)


Mean = Annotated[float, mean]
Sum = Annotated[int, sum]
Max = Annotated[float, max]
Min = Annotated[float, min]
Farthest = Annotated[float, farthest]
All = Annotated[bool, all]
Counts = Annotated[Mapping[int, int], sums_by_key]
Texts = Annotated[tuple[str, ...], joined]


def combined(records: Sequence[Record]) -> Record:
    """Combines records of several seeds field by field, ignoring values that are None.

    A class may have a method `over_seeds`, which gets all records and adjusts fields that depend on others.

    Args:
        records: dataclasses of one class, at least one.
    """
    first: Any = records[0]
    hints, changes = get_type_hints(type(first), include_extras=True), {}
    for field in fields(first):
        rule = _rule(hints[field.name])
        if rule is not None:
            values = [value for one in records if (value := getattr(one, field.name)) is not None]
            changes[field.name] = rule(values) if values else None
    whole = replace(first, **changes)
    found: Record = whole.over_seeds(records) if hasattr(whole, "over_seeds") else whole
    return found


def _rule(hint: Any) -> Callable[[Sequence[Any]], Any] | None:
    """Returns the function that combines several values of an annotated type; None if it has no rule.

    Dataclasses are combined field by field.
    """
    if get_origin(hint) is Annotated:
        rule: Callable[[Sequence[Any]], Any] = hint.__metadata__[0]
        return rule
    if isinstance(hint, type) and is_dataclass(hint):
        return combined
    if get_origin(hint) in (tuple, list) or not get_args(hint):
        return None
    return next(filter(None, map(_rule, get_args(hint))), None)

"""Variations of a sweep: options, and parameters of routings and patterns, with the values that they take."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from experiments.spec.options import AUTO_RATE, SIMULATED_SWEEP, SWEEP
from experiments.spec.values import words_of
from experiments.spec.variations.keys import (
    declaration,
    needs_own_fabric,
    own_fabric_message,
    parameters_of,
    swept_options,
)
from experiments.spec.variations.texts import SHORT_FORMS, given_values
from topology.errors import ParameterError, UsageError
from topology.files.shown import quoted
from topology.links import parse_rate_bps
from topology.parameters import Parameter, Value, split_parameters

MAX_POINTS = 10_000


@dataclass(frozen=True)
class Variation:
    """Values of one key that a sweep goes over.

    Attributes:
        key: name of an option, as `frame-bytes`, or `OWNER.PARAMETER`, as `ugal-pf.threshold`.
        values: its values, different ones; numbers ascend.
    """

    key: str
    values: tuple[Value, ...]

    @property
    def owner(self) -> str:
        """The routing or pattern whose parameter it is; empty of an option."""
        return self.key.rpartition(".")[0]

    @property
    def parameter(self) -> Parameter:
        """The declaration."""
        return declaration(self.key)


def read_variations(texts: Iterable[str], kind: str = SWEEP) -> tuple[Variation, ...]:
    """Returns the variations that texts like `queue=8,32` ask for, in their order.

    Args:
        texts: the texts.
        kind: SWEEP or SIMULATED_SWEEP, whose options they are.

    Raises:
        UsageError: a key is not known, is given twice, or needs a fabric of its own.
        ParameterError: a value is outside its domain, or there are none or too many.
    """
    variations: dict[str, Variation] = {}
    for key, given in given_values(texts).items():
        if needs_own_fabric(key, kind):
            raise UsageError(own_fabric_message(key, given))
        variations[key] = Variation(key, _values(key, given, kind))
    return tuple(variations.values())


def check_variation(text: str) -> None:
    """Raises UsageError unless a text asks for a variation."""
    read_variations([text])


def check_simulated_variation(text: str) -> None:
    """Raises UsageError unless a text asks for a variation of a sweep of simulations."""
    read_variations([text], SIMULATED_SWEEP)


def listed_values(key: str, text: str) -> tuple[Value, ...]:
    """Returns the different values of a list that an option of a sweep is; numbers ascend.

    Args:
        key: one of SHORT_FORMS, as `load` of `--loads`.
        text: values with commas, or of a number FIRST:LAST:STEP.

    Raises:
        UsageError: a value is outside its domain, or there are none or too many.
    """
    parameter = replace(declaration(key), name=SHORT_FORMS[key])  # errors name the list
    return _ordered(parameter, dict.fromkeys(_read(parameter, text)))


def _check_different(values: Sequence[object]) -> None:
    """Raises ParameterError if a list has a value twice."""
    value, count = Counter(values).most_common(1)[0]
    if count > 1:
        raise ParameterError(f"values must be different, got {value} {count} times")


@contextlib.contextmanager
def _named(key: str) -> Iterator[None]:
    """Has errors of the block name the key of a variation."""
    try:
        yield
    except UsageError as error:
        raise type(error)(f"--vary {key}: {error}") from None


def _values(key: str, text: str, kind: str) -> tuple[Value, ...]:
    """Returns the values of a key, checked; numbers ascend."""
    parameter = declaration(key, kind)
    with _named(key):
        values = _read(parameter, text)
        _check_different(values)
    if key == "link-rate" and AUTO_RATE in values:
        raise ParameterError(
            f"--vary {key}: values must be rates, got {AUTO_RATE!r}; it finds one for a sweep"
        )
    return _ordered(parameter, values)


def _ordered(parameter: Parameter, values: Collection[Value]) -> tuple[Value, ...]:
    """Returns values with numbers ascending, before words."""
    if parameter.type in (str, bool):
        return tuple(values)
    numbers = [value for value in values if not isinstance(value, str)]
    words = [value for value in values if isinstance(value, str)]  # as `steady`
    return (*sorted(numbers), *words)


def _read(parameter: Parameter, text: str) -> list[Value]:
    """Returns the values of a list with commas or, of a number, of FIRST:LAST:STEP."""
    if parameter.type is int and ":" in text:
        return [parameter.check(value) for value in _range(parameter, text, int)]
    if parameter.type is float and ":" in text:
        return [parameter.check(float(f"{value:.9g}")) for value in _range(parameter, text, float)]
    return [parameter.read(word) for word in words_of(f"values of {parameter.name}", text)]


def _range(parameter: Parameter, text: str, number: type[int] | type[float]) -> list[float]:
    try:
        first, last, step = map(number, text.split(":"))
    except ValueError:
        raise ParameterError(
            f"{parameter.name} must be a list with commas or FIRST:LAST:STEP, got {quoted(text)}"
        ) from None
    if not (step > 0 and -math.inf < first <= last < math.inf and step < math.inf):
        raise ParameterError(
            f"{parameter.name} must be FIRST:LAST:STEP with FIRST at most LAST and STEP over 0, got "
            f"{quoted(text)}"
        )
    count = (last - first) / step + 1e-9
    if count >= MAX_POINTS:
        raise ParameterError(f"values of {parameter.name} must be at most {MAX_POINTS}, got {quoted(text)}")
    return [first + place * step for place in range(math.floor(count) + 1)]


def values_at(
    routing: str, pattern: str, options: Mapping[str, Value], keys: Iterable[str]
) -> dict[str, Value]:
    """Returns the values of some keys at a point; keys of other routings and patterns have none.

    Args:
        routing: the point's routing, with its parameters.
        pattern: the point's pattern, with its parameters.
        options: key -> value of the options that vary.
        keys: the keys.
    """
    found: dict[str, Value] = {}
    for key in keys:
        owner, _, name = key.rpartition(".")
        if key in options:
            found[key] = options[key]
            continue
        for text in (routing, pattern):
            if owner and text.partition(":")[0] == owner:
                parameter = next((p for p in parameters_of(owner) if p.name == name), None)
                value = _given(text, owner).get(parameter.key, parameter.default) if parameter else None
                found |= {} if value is None else {key: value}
    return found


def _given(text: str, owner: str) -> Mapping[str, Value]:
    """Returns key -> value of the parameters in a name, none where another version wrote them."""
    try:
        return split_parameters(text, parameters_of(owner))[1]
    except UsageError:
        return {}


def number(key: str, value: Value | None) -> float | None:
    """Returns a value as a number, rates in Mbit/s; None of a text that names none.

    Args:
        key: key of the value.
        value: the value; None for none.
    """
    if value is None or isinstance(value, bool):
        return None
    if not isinstance(value, str):
        return float(value)
    if key == "link-rate":
        with contextlib.suppress(ParameterError):
            return parse_rate_bps(value) / 1e6
    with contextlib.suppress(ValueError):
        return float(value)
    return None


def read_value(key: str, text: str, kind: str = SWEEP) -> Value:
    """Returns the value of an option in a table's cell, of the option's type.

    Args:
        key: name of the option.
        text: the cell.
        kind: SWEEP or SIMULATED_SWEEP.

    Raises:
        ParameterError: the text is not a value of the option.
    """
    option = swept_options(kind).get(key)
    return option.read(text) if option else text

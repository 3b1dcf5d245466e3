"""Variations of a sweep: options and parameters of routings and patterns, with their values."""

from __future__ import annotations

import contextlib
import math
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from experiments.spec import options as declarations
from experiments.spec.option import Option
from experiments.spec.options import (
    AUTO_RATE,
    RUN,
    SIMULATED_SWEEP,
    SWEEP,
    TOPOLOGY,
    family_options,
    option_of,
)
from experiments.spec.values import words_of
from topology.errors import ParameterError, UsageError
from topology.files.escaping import quoted
from topology.links import parse_rate_bps
from topology.parameters import Parameter, Value, hint, spelled, split_parameters
from topology.registry import FAMILIES

if TYPE_CHECKING:
    from routing.algorithms.routing import Routing
    from topology.plugins import Registry
    from traffic.workload.patterns import PatternDefinition


def swept_options(kind: str = SWEEP) -> dict[str, Option]:
    """Returns option name -> option for the options that a sweep can vary without rebuilding the fabric.

    Args:
        kind: SWEEP or SIMULATED_SWEEP.
    """
    listed = [option_of(name, RUN) for name in SHORT_FORMS]
    return {option.name: option for option in (*listed, *_fabric_and_traffic(kind)) if option.varies}


def _own_fabric_options(kind: str) -> list[str]:
    """Returns the names of options for which each value needs a new fabric."""
    fixed = (o for o in _fabric_and_traffic(kind) if o.table in ("fabric", "simulation") and not o.varies)
    return [TOPOLOGY, *(option.name for option in fixed)]


def _fabric_and_traffic(kind: str) -> list[Option]:
    tables = ("fabric", "traffic", "simulation")
    return [option for option in declarations.OPTIONS if kind in option.commands and option.table in tables]


def known_keys(kind: str = SWEEP) -> list[str]:
    """Returns all keys of --vary, including parameters of routings and patterns.

    Args:
        kind: SWEEP or SIMULATED_SWEEP.
    """
    return [*swept_options(kind), *_owned_keys()]


def known_simulated_keys() -> list[str]:
    """Returns all keys of --vary for a sweep of simulations."""
    return known_keys(SIMULATED_SWEEP)


def declaration(key: str, kind: str = SWEEP) -> Parameter:
    """Returns the declaration of the option or parameter that a key names.

    Args:
        key: the key.
        kind: SWEEP or SIMULATED_SWEEP.

    Raises:
        UsageError: the key is not known.
    """
    owner, dot, name = key.rpartition(".")
    if dot:
        return _owned(key, owner, name)
    swept = swept_options(kind)
    if key in swept:
        return swept[key]
    names = ", ".join(swept)
    raise UsageError(
        f"key of --vary must be one of {names}, ROUTING.PARAMETER or PATTERN.PARAMETER, got {quoted(key)}"
        f"{hint(key, [*known_keys(kind), *_own_fabric_options(kind)])}"
    )


def _owned(key: str, owner: str, name: str) -> Parameter:
    """Returns the declaration of a parameter of a routing or pattern; raises UsageError if it is unknown.

    Args:
        key: the whole key, `OWNER.PARAMETER`, for errors.
        owner: name of the routing or pattern.
        name: name of the parameter.
    """
    routings, patterns = _registries()
    if owner not in routings and owner not in patterns:
        raise UsageError(
            f"key of --vary must have a routing or a pattern before its dot, got {quoted(key)}"
            f"{hint(key, _owned_keys()) or hint(owner, [*routings, *patterns])}"
        )
    for parameter in parameters_of(owner):
        if parameter.name == name:
            return parameter
    names = [parameter.name for parameter in parameters_of(owner)]
    known = f"the parameter{'s' * (len(names) > 1)} {', '.join(names)}" if names else "no parameters"
    raise UsageError(f"{owner} has {known}, got {quoted(key)}{hint(name, names)}")


def _registries() -> tuple[Registry[Routing], Registry[PatternDefinition]]:
    """Returns the registries of routings and of patterns.

    They are imported only here, as their import takes longer than parsing options.
    """
    from routing.registry import ROUTINGS
    from traffic.workload.patterns import PATTERNS

    return ROUTINGS, PATTERNS


def parameters_of(owner: str) -> tuple[Parameter, ...]:
    """Returns the declared parameters of a routing or pattern; empty if it is unknown."""
    routings, patterns = _registries()
    if owner in routings:
        return routings[owner].parameters
    return patterns[owner].parameters if owner in patterns else ()


def _owned_keys() -> list[str]:
    routings, patterns = _registries()
    owners = [*routings.loaded(), *patterns.loaded()]
    return [f"{owner}.{parameter.name}" for owner in owners for parameter in parameters_of(owner)]


def needs_own_fabric(key: str, kind: str = SWEEP) -> bool:
    """Returns whether each value of an option needs a new fabric.

    Args:
        key: name of the option.
        kind: SWEEP or SIMULATED_SWEEP.
    """
    own = {option.name for family in FAMILIES.loaded() for option in family_options(family)}
    return key in _own_fabric_options(kind) or (key not in swept_options(kind) and key in own)


def own_fabric_message(key: str, given: Any) -> str:
    """Returns the error message for an option that cannot vary on one fabric, with a shell loop as remedy."""
    listed = given if isinstance(given, list | tuple) else str(given).split(",")
    words = "$value ..." if key == TOPOLOGY else f"... --{key} $value"
    return (
        f"{key} needs a new fabric for each value; instead of --vary, run one sweep per value: for "
        f"value in {shlex.join(map(str, listed))}; do polarlab sweep {words} --out results/{key}-$value; done"
    )


# Options of a run -> the options of a sweep that are lists of their values.
SHORT_FORMS: Mapping[str, str] = {"routing": "routings", "pattern": "patterns", "load": "loads"}


def given_values(texts: Iterable[str]) -> dict[str, str]:
    """Returns key -> text of its values for variations like `queue=8,32`.

    Raises:
        UsageError: a text is malformed, or a key is given twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        key, _, values = (part.strip() for part in text.partition("="))
        if not (key and values):
            raise UsageError(
                f"--vary must be KEY=VALUES, such as queue=8,32 or ugal-pf.threshold=0.3:0.9:0.1, got "
                f"{quoted(text)}"
            )
        key = _spelled_key(key)
        if key in found:
            raise UsageError(f"--vary {key} must be given once, got it twice; list all values in one --vary")
        found[key] = values
    return found


def _spelled_key(key: str) -> str:
    """Returns a key `OWNER.PARAMETER` as its declarations spell it; other and unknown keys unchanged."""
    owner, dot, name = key.rpartition(".")
    if not dot:
        return key
    owner = next((registry.spelled(owner) for registry in _registries() if owner in registry), owner)
    return f"{owner}.{spelled(name, [parameter.name for parameter in parameters_of(owner)])}"


def varied_options(texts: Iterable[str]) -> dict[str, str]:
    """Returns option -> key of the variation that replaces it, such as `loads` -> `load`.

    Args:
        texts: variations, such as `queue=8,32` or `load=0.1,0.5`.

    Raises:
        UsageError: a text is malformed, or a key is given twice.
    """
    return {SHORT_FORMS.get(key, key): key for key in given_values(texts) if "." not in key}


MAX_POINTS = 10_000


@dataclass(frozen=True)
class Variation:
    """Swept values of one key.

    Attributes:
        key: name of an option, such as `frame-bytes`, or `OWNER.PARAMETER`, such as `ugal-pf.threshold`.
        values: its distinct values; numbers ascend.
    """

    key: str
    values: tuple[Value, ...]

    @property
    def owner(self) -> str:
        """The routing or pattern that the parameter belongs to; empty for an option."""
        return self.key.rpartition(".")[0]

    @property
    def parameter(self) -> Parameter:
        """The declaration of the option or parameter."""
        return declaration(self.key)


def read_variations(texts: Iterable[str], kind: str = SWEEP) -> tuple[Variation, ...]:
    """Returns the variations of texts like `queue=8,32`, in their order.

    Args:
        texts: the texts.
        kind: name under which the options are declared: SWEEP or SIMULATED_SWEEP.

    Raises:
        UsageError: a key is unknown, is given twice, or needs a new fabric for each value.
        ParameterError: a value is outside its domain, or there are none or too many.
    """
    variations: dict[str, Variation] = {}
    for key, given in given_values(texts).items():
        if needs_own_fabric(key, kind):
            raise UsageError(own_fabric_message(key, given))
        variations[key] = Variation(key, _values(key, given, kind))
    return tuple(variations.values())


def check_variation(text: str) -> None:
    """Raises UsageError if a text is not a valid variation."""
    read_variations([text])


def check_simulated_variation(text: str) -> None:
    """Raises UsageError if a text is not a valid variation of a simulated sweep."""
    read_variations([text], SIMULATED_SWEEP)


def listed_values(key: str, text: str) -> tuple[Value, ...]:
    """Returns the distinct values of a list option of a sweep; numbers ascend.

    Args:
        key: one of SHORT_FORMS, such as `load` for `--loads`.
        text: comma-separated values or, for numbers, FIRST:LAST:STEP.

    Raises:
        UsageError: a value is outside its domain, or there are none or too many.
    """
    parameter = replace(declaration(key), name=SHORT_FORMS[key])  # errors then say `loads`, not `load`
    return _ordered(parameter, dict.fromkeys(_read(parameter, text)))


def _check_different(values: Sequence[object]) -> None:
    """Raises ParameterError if a value occurs twice."""
    value, count = Counter(values).most_common(1)[0]
    if count > 1:
        raise ParameterError(f"values must be different, got {value} {count} times")


@contextlib.contextmanager
def _named(key: str) -> Iterator[None]:
    """Adds the key of a variation to errors raised in the block."""
    try:
        yield
    except UsageError as error:
        raise type(error)(f"--vary {key}: {error}") from None


def _values(key: str, text: str, kind: str) -> tuple[Value, ...]:
    """Returns the checked values of a key in --vary; numbers ascend.

    Args:
        key: name of an option, or `OWNER.PARAMETER`.
        text: comma-separated values, or FIRST:LAST:STEP.
        kind: SWEEP or SIMULATED_SWEEP.
    """
    parameter = declaration(key, kind)
    with _named(key):
        values = _read(parameter, text)
        _check_different(values)
    if key == "link-rate" and AUTO_RATE in values:
        raise ParameterError(
            f"--vary {key}: values must be rates, got {AUTO_RATE!r}; give --{key} {AUTO_RATE} for the sweep"
        )
    return _ordered(parameter, values)


def _ordered(parameter: Parameter, values: Collection[Value]) -> tuple[Value, ...]:
    """Sorts values: ascending numbers, then words; values of text options keep their order."""
    if parameter.type in (str, bool):
        return tuple(values)
    numbers = [value for value in values if not isinstance(value, str)]
    words = [value for value in values if isinstance(value, str)]  # such as `steady`
    return (*sorted(numbers), *words)


def _read(parameter: Parameter, text: str) -> list[Value]:
    """Returns the values of a comma-separated list or, for numbers, of FIRST:LAST:STEP."""
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
            f"{parameter.name} must be a comma-separated list or FIRST:LAST:STEP, got {quoted(text)}"
        ) from None
    if not (step > 0 and -math.inf < first <= last < math.inf and step < math.inf):
        raise ParameterError(
            f"{parameter.name} must be FIRST:LAST:STEP with FIRST at most LAST and STEP over 0, got "
            f"{quoted(text)}"
        )
    count = (last - first) / step + 1e-9
    if count >= MAX_POINTS:
        raise ParameterError(f"{parameter.name} must have at most {MAX_POINTS} values, got {quoted(text)}")
    return [first + place * step for place in range(math.floor(count) + 1)]


def values_at(
    routing: str, pattern: str, options: Mapping[str, Value], keys: Iterable[str]
) -> dict[str, Value]:
    """Returns key -> value at a point; keys of other routings' and patterns' parameters are left out.

    Args:
        routing: the point's routing, with its parameters.
        pattern: the point's pattern, with its parameters.
        options: key -> value of the varied options.
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
    """Returns key -> value of the parameters given in a name; empty if this version does not know them all.

    Args:
        text: name of a routing or pattern, with its parameters.
        owner: the name without parameters.
    """
    try:
        return split_parameters(text, parameters_of(owner))[1]
    except UsageError:
        return {}


def number(key: str, value: Value | None) -> float | None:
    """Returns a value as a number, with rates in Mbit/s; None if it is not a number.

    Args:
        key: key of the value.
        value: the value, or None.
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
    """Converts the text of a table's cell to the type of its option.

    Args:
        key: name of the option.
        text: the cell.
        kind: SWEEP or SIMULATED_SWEEP.

    Raises:
        ParameterError: the text is not a value of the option.
    """
    option = swept_options(kind).get(key)
    return option.read(text) if option else text

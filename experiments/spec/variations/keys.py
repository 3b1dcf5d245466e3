"""Options that a sweep can vary on a standing fabric, and those whose values need a fabric of their own."""

from __future__ import annotations

from typing import Any

from experiments.spec import options as declarations
from experiments.spec.option import Option
from experiments.spec.options import RUN, SIMULATED_SWEEP, SWEEP, TOPOLOGY, family_options, option_of
from experiments.spec.variations.texts import SHORT_FORMS
from routing.registry import ROUTINGS
from topology.errors import UsageError
from topology.files.shown import quoted
from topology.parameters import Parameter, hint
from topology.registry import FAMILIES
from traffic.workload.patterns import PATTERNS


def swept_options(kind: str = SWEEP) -> dict[str, Option]:
    """Returns the options that a sweep can vary on a fabric that stays up, by name.

    Args:
        kind: SWEEP or SIMULATED_SWEEP.
    """
    listed = [option_of(name, RUN) for name in SHORT_FORMS]
    return {option.name: option for option in (*listed, *_fabric_and_traffic(kind)) if option.varies}


def _own_fabric_options(kind: str) -> list[str]:
    """Returns the options of which each value needs a fabric of its own."""
    fixed = (o for o in _fabric_and_traffic(kind) if o.table in ("fabric", "simulation") and not o.varies)
    return [TOPOLOGY, *(option.name for option in fixed)]


def _fabric_and_traffic(kind: str) -> list[Option]:
    tables = ("fabric", "traffic", "simulation")
    return [option for option in declarations.OPTIONS if kind in option.commands and option.table in tables]


def known_keys(kind: str = SWEEP) -> list[str]:
    """Returns all keys, those of parameters included.

    Args:
        kind: SWEEP or SIMULATED_SWEEP.
    """
    return [*swept_options(kind), *_owned_keys()]


def known_simulated_keys() -> list[str]:
    """Returns all keys of a sweep of simulations."""
    return known_keys(SIMULATED_SWEEP)


def declaration(key: str, kind: str = SWEEP) -> Parameter:
    """Returns the declaration of the option or parameter of a key.

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
    """Returns the declaration of a parameter of a routing or pattern."""
    if owner not in ROUTINGS and owner not in PATTERNS:
        raise UsageError(
            f"key of --vary must begin with a routing or a pattern before its dot, got {quoted(key)}"
            f"{hint(key, _owned_keys()) or hint(owner, [*ROUTINGS, *PATTERNS])}"
        )
    for parameter in parameters_of(owner):
        if parameter.name == name:
            return parameter
    names = [parameter.name for parameter in parameters_of(owner)]
    known = f"the parameter{'s' * (len(names) > 1)} {', '.join(names)}" if names else "no parameters"
    raise UsageError(f"{owner} has {known}, got {quoted(key)}{hint(name, names)}")


def parameters_of(owner: str) -> tuple[Parameter, ...]:
    """Returns the declared parameters of a routing or pattern; none of an unknown name."""
    if owner in ROUTINGS:
        return ROUTINGS[owner].parameters
    return PATTERNS[owner].parameters if owner in PATTERNS else ()


def _owned_keys() -> list[str]:
    owners = (*ROUTINGS.loaded(), *PATTERNS.loaded())
    return [f"{owner}.{parameter.name}" for owner in owners for parameter in parameters_of(owner)]


def needs_own_fabric(key: str, kind: str = SWEEP) -> bool:
    """Returns whether each value of an option needs a fabric of its own.

    Args:
        key: name of the option.
        kind: SWEEP or SIMULATED_SWEEP.
    """
    own = {option.name for family in FAMILIES.loaded() for option in family_options(family)}
    return key in _own_fabric_options(kind) or (key not in swept_options(kind) and key in own)


def own_fabric_message(key: str, given: Any) -> str:
    """Returns the message that an option cannot vary on one fabric, with a loop that does it."""
    listed = given if isinstance(given, list | tuple) else str(given).split(",")
    words = "$value ..." if key == TOPOLOGY else f"... --{key} $value"
    return (
        f"{key} needs a fabric of its own for each value; instead of --vary, run a sweep for each: for value "
        f"in {' '.join(map(str, listed))}; do polarlab sweep {words} --out results/{key}-$value; done"
    )

"""Finds the input files of options whose values may name a file, such as `--pattern matrix:FILE`."""

from __future__ import annotations

from experiments.spec.options import SIMULATED_SWEEP
from experiments.spec.values import words_of
from experiments.spec.variations import declaration, given_values, swept_options
from topology.drawn_faults import PREFIX
from topology.errors import UsageError
from topology.parameters import split_parameters
from traffic.workload.flows.sizes import FIXED, PUBLISHED
from traffic.workload.patterns import PATTERNS


def schedule_file(text: str) -> str:
    """Returns the file of a fault schedule; empty for random faults.

    Args:
        text: value of `--faults`.
    """
    return "" if text.startswith(PREFIX) else text


def sizes_file(text: str) -> str:
    """Returns the file of a flow size distribution; empty for a named distribution.

    Args:
        text: value of `--flow-sizes`.
    """
    return "" if text in PUBLISHED or text.startswith(f"{FIXED}:") else text


def pattern_file(text: str) -> str:
    """Returns the file that a pattern reads, as declared by its parameters; empty if it reads none.

    Args:
        text: value of `--pattern`.
    """
    name, _, rest = text.partition(":")
    declared = PATTERNS[name].parameters if name in PATTERNS else ()
    files = [parameter for parameter in declared if parameter.file]
    if not files:
        return ""
    try:
        _, given = split_parameters(text, declared)
    except UsageError:  # reported when the pattern itself is checked
        return rest
    return next((str(given[parameter.key]) for parameter in files if parameter.key in given), "")


def files_of_patterns(text: str) -> list[str]:
    """Returns the files that several patterns read.

    Args:
        text: value of `--patterns`.
    """
    return [path for word in words_of("patterns", text) if (path := pattern_file(word))]


def files_of_variation(text: str) -> list[str]:
    """Returns the files that the values of a variation name.

    Args:
        text: value of `--vary`.
    """
    swept = {**swept_options(SIMULATED_SWEEP), **swept_options()}
    ((key, values),) = given_values([text]).items()
    named = swept[key] if key in swept else declaration(key)
    return [path for word in words_of(key, values) if (path := named.file_named(word))]

"""Files that the text of an option names, where it may have other forms too."""

from __future__ import annotations

from topology.drawn_faults import PREFIX
from topology.errors import UsageError
from topology.parameters import split_parameters
from traffic.workload.flows.sizes import FIXED, PUBLISHED
from traffic.workload.patterns import PATTERNS


def schedule_file(text: str) -> str:
    """Returns the file of a fault schedule; empty for one that is drawn.

    Args:
        text: value of `--faults`.
    """
    return "" if text.startswith(PREFIX) else text


def sizes_file(text: str) -> str:
    """Returns the file of a distribution of sizes; empty for a distribution with a name.

    Args:
        text: value of `--flow-sizes`.
    """
    return "" if text in PUBLISHED or text.startswith(f"{FIXED}:") else text


def pattern_file(text: str) -> str:
    """Returns the file that a pattern reads, by the declaration of its parameters; empty if it reads none.

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
    except UsageError:  # whatever else is wrong with it
        return rest
    return next((str(given[parameter.key]) for parameter in files if parameter.key in given), "")

"""Files that the text of an option names, where it may have other forms too."""

from __future__ import annotations

from topology.drawn_faults import PREFIX
from traffic.workload.flows.sizes import FIXED, PUBLISHED


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


def matrix_file(text: str) -> str:
    """Returns the file of a demand matrix; empty for another pattern.

    Args:
        text: value of `--pattern`.
    """
    name, _, file = text.partition(":")
    return file.removeprefix("file=") if name == "matrix" else ""

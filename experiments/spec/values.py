"""Rules that several specifications share: ranges, choices, seeds, lists, and names of files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from topology.errors import ParameterError

DEFAULT_RESULTS = Path("results")
MAX_SEED = 2**63 - 1
_LONGEST_NAME = 120  # characters; a file's name ends at 255


def plain_name(*words: object) -> str:
    """Returns some words as the name of a file or folder: without slashes, colons and the like."""
    return re.sub(r"[^A-Za-z0-9._=]+", "-", "-".join(map(str, words))).strip("-")[-_LONGEST_NAME:]


def output_path(text: str) -> Path:
    """Returns the path of an output directory.

    Raises:
        ParameterError: the text is empty.
    """
    if not text:
        raise ParameterError("output directory must be a name, got none")
    return Path(text)


def words_of(name: str, text: str) -> tuple[str, ...]:
    """Returns the different words of a list with commas, in their order.

    Raises:
        ParameterError: the list is empty; the error calls it `name`.
    """
    words = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if not words:
        raise ParameterError(f"{name} must be at least one, got {text!r}")
    return words


def check_seed(seed: int) -> None:
    """Raises ParameterError unless the random generator takes that seed."""
    check_range("seed", seed, 0, MAX_SEED)


def check_range(name: str, value: float, least: float, most: float, unit: str = "") -> None:
    """Raises ParameterError unless a value, in a unit where it has one, lies in its range."""
    if not least <= value <= most:  # false for nan, too
        domain = f"{least} to {most} {unit}".rstrip()
        raise ParameterError(f"{name} must be {domain}, got {value}")


def check_choice(name: str, value: str, choices: Iterable[str]) -> None:
    """Raises ParameterError unless a value is one of those that there are."""
    known = list(choices)
    if value not in known:
        raise ParameterError(f"{name} must be one of {', '.join(known)}, got {value!r}")

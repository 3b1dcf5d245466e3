"""Values of options that all commands read alike."""

from __future__ import annotations

import re
from pathlib import Path

from topology.errors import ParameterError

DEFAULT_RESULTS = Path("results")
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
        raise ParameterError("--out needs the name of a directory")
    return Path(text)


def words_of(name: str, text: str) -> tuple[str, ...]:
    """Returns the different words of a list with commas; raises ParameterError if there is none."""
    words = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if not words:
        raise ParameterError(f"{name} needs at least one value")
    return words


def check_seed(seed: int) -> None:
    """Raises ParameterError unless the random generator takes that seed."""
    check_range("--seed", seed, 0, 2**63 - 1)


def check_range(name: str, value: float, least: float, most: float) -> None:
    """Raises ParameterError unless an option's value lies in its range."""
    if not least <= value <= most:  # false for nan, too
        raise ParameterError(f"{name} must be {least} to {most}, got {value}")

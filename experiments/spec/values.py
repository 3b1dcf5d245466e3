"""Rules that several specifications share: ranges, choices, seeds, lists, and names of files."""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, cast

from experiments.spec.options import MAX_SEED
from topology.errors import ParameterError
from topology.files import reading
from topology.files.shown import quoted
from topology.parameters import hint

Made = TypeVar("Made")

DEFAULT_RESULTS = Path("results")
_LONGEST_NAME = 120  # characters; a file's name ends at 255


def plain_name(*words: object) -> str:
    """Returns some words as the name of a file or folder: without slashes, colons and the like."""
    name = re.sub(r"[^A-Za-z0-9._=]+", "-", "-".join(map(str, words))).strip("-")
    if len(name) <= _LONGEST_NAME:
        return name
    # The end says most; a sum over the whole tells apart names that differ in their beginning.
    digits = f"{zlib.crc32(name.encode()):08x}"
    return f"{digits}-{name[len(digits) + 1 - _LONGEST_NAME :].strip('-')}"


def dated_folder(*words: object) -> Path:
    """Returns the path of a new output directory: some words, and the date and time."""
    return DEFAULT_RESULTS / plain_name(*words, time.strftime("%Y%m%d-%H%M%S"))


def words_of(name: str, text: str) -> list[str]:
    """Returns the words of a list with commas.

    A word like `key=value` goes on with the parameters of the name before it, so that
    `min,ugal-pf:threshold=0.5,buckets=8` is two words. (A name with parameters has a colon before the first
    equals sign.)

    Raises:
        ParameterError: the list is empty; the error calls it `name`.
    """
    words: list[str] = []
    for word in (part.strip() for part in text.split(",")):
        before, equals, _ = word.partition("=")
        if words and ":" in words[-1] and equals and ":" not in before:
            words[-1] += f",{word}"
        elif word:
            words.append(word)
    if not words:
        raise ParameterError(f"{name} must be at least one, got {quoted(text)}")
    return words


def read_text(path: Path, need: str) -> str:
    """Returns the text of a file that an option names.

    Args:
        path: the file.
        need: sentence of the error about the file that the option needs.

    Raises:
        ParameterError: the file cannot be read.
    """
    return reading.read_text(path, reading.SETTINGS_BYTES, need=need)


def check_range(name: str, value: float, least: float, most: float, unit: str = "") -> None:
    """Raises ParameterError unless a value, in a unit where it has one, lies in its range."""
    if not least <= value <= most:  # false for nan, too
        domain = f"{least} to {most} {unit}".rstrip()
        raise ParameterError(f"{name} must be {domain}, got {value}")


def check_choice(name: str, value: str, choices: Iterable[str]) -> None:
    """Raises ParameterError unless a value is one of those that there are."""
    known = list(choices)
    if value not in known:
        raise ParameterError(
            f"{name} must be one of {', '.join(known)}, got {quoted(value)}{hint(value, known)}"
        )


def made(kind: type[Made], values: Mapping[str, Any], **others: Any) -> Made:
    """Returns a specification whose fields are options of the same names, except for some others.

    Args:
        kind: dataclass of the specification.
        values: option -> value.
        others: fields that are given.
    """
    names = {
        entry.name: entry.name.replace("_", "-")
        for entry in fields(cast(Any, kind))
        if entry.name not in others
    }
    return kind(**{name: values[option] for name, option in names.items() if option in values}, **others)


def check_seeds(what: str, first: int, repeat: int) -> None:
    """Raises ParameterError if one of several seeds is too large.

    Args:
        what: those that have a seed each, as in `seeds of all failovers`.
        first: the first seed.
        repeat: their number; each seed is one more than that before.
    """
    if first + repeat - 1 > MAX_SEED:
        raise ParameterError(f"seeds of all {what} must be at most {MAX_SEED}, got {first + repeat - 1}")

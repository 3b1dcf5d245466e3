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
from topology.files.escaping import quoted
from topology.parameters import hint

Spec = TypeVar("Spec")

DEFAULT_RESULTS = Path("results")
_LONGEST_NAME = 120  # characters; file systems allow 255 bytes, and suffixes follow


def plain_name(*words: object) -> str:
    """Joins words into the name of a file or folder, without slashes, colons and similar characters."""
    name = re.sub(r"[^A-Za-z0-9._=]+", "-", "-".join(map(str, words))).strip("-")
    if len(name) <= _LONGEST_NAME:
        return name
    # Keep the end, which says most; a checksum keeps names apart that differ only at the start.
    digits = f"{zlib.crc32(name.encode()):08x}"
    return f"{digits}-{name[len(digits) + 1 - _LONGEST_NAME :].strip('-')}"


def dated_folder(*words: object) -> Path:
    """Returns the path of a new output directory, named after some words and the current time."""
    return DEFAULT_RESULTS / plain_name(*words, time.strftime("%Y%m%d-%H%M%S"))


def words_of(name: str, text: str) -> list[str]:
    """Returns the words of a comma-separated list.

    A word like `key=value` is a further parameter of the name before it, so that
    `min,ugal-pf:threshold=0.5,buckets=8` is two words. (A name with parameters has a colon before the first
    equals sign.) A comma may follow the last word.

    Raises:
        ParameterError: the list `name` is empty, or has an empty word.
    """
    words: list[str] = []
    for word in (part.strip() for part in text.strip().removesuffix(",").split(",")):
        before, equals, _ = word.partition("=")
        if words and ":" in words[-1] and equals and ":" not in before:
            words[-1] += f",{word}"
        else:
            words.append(word)
    if not all(words):
        domain = "have a value between commas" if any(words) else "not be empty"
        raise ParameterError(f"{name} must {domain}, got {quoted(text)}")
    return words


def read_text(path: Path, need: str) -> str:
    """Returns the text of a file that an option names.

    Args:
        path: the file.
        need: clause of the error that says which file the option needs.

    Raises:
        ParameterError: the file cannot be read.
    """
    return reading.read_text(path, reading.SETTINGS_BYTES, need=need)


def check_range(name: str, value: float, least: float, most: float, unit: str = "") -> None:
    """Raises ParameterError if a value is outside its range; `unit` appears in the message."""
    if not least <= value <= most:  # also false for NaN
        bounds = f"{least} to {most}" if least < most else f"{least}"
        domain = f"{bounds} {unit}".rstrip()
        raise ParameterError(f"{name} must be {domain}, got {value}")


def check_choice(name: str, value: str, choices: Iterable[str]) -> None:
    """Raises ParameterError if a value is not one of the choices."""
    known = list(choices)
    if value not in known:
        raise ParameterError(
            f"{name} must be one of {', '.join(known)}, got {quoted(value)}{hint(value, known)}"
        )


def from_options(kind: type[Spec], values: Mapping[str, Any], **others: Any) -> Spec:
    """Builds a specification from the options that have the names of its fields.

    Args:
        kind: dataclass of the specification.
        values: option -> value.
        others: values of the other fields.
    """
    names = {
        entry.name: entry.name.replace("_", "-")
        for entry in fields(cast(Any, kind))
        if entry.name not in others
    }
    return kind(**{name: values[option] for name, option in names.items() if option in values}, **others)


def check_seeds(what: str, first: int, repeat: int) -> None:
    """Raises ParameterError if one of several consecutive seeds is too large.

    Args:
        what: plural noun for the message, such as `failovers`.
        first: the first seed.
        repeat: number of seeds.
    """
    if first + repeat - 1 > MAX_SEED:
        raise ParameterError(f"seeds of all {what} must be at most {MAX_SEED}, got {first + repeat - 1}")

"""Records as JSON: typed dataclasses, written as objects and read back.

A field declared with `omitted` is left out of the object if it is None; all other fields are always present.
Readers ignore unknown keys, so that older code can read newer files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, field, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from topology.errors import ParameterError
from topology.files.reading import RESULT_BYTES, FileError, read_bytes

# Increased when the meaning of a key changes; adding keys does not need a new version.
FORMAT = 1
Record = TypeVar("Record")

_OMITTED, _MEANING = "omitted where None", "meaning"


def omitted(meaning: str = "", *, compare: bool = True) -> Any:
    """Returns a dataclass field with default None, which is left out of the JSON object if it is None.

    Args:
        meaning: description of the field, if no docstring describes it.
        compare: whether objects that differ only in this field are unequal.
    """
    return field(default=None, compare=compare, metadata={_OMITTED: True, _MEANING: meaning})


def described(meaning: str) -> Any:
    """Returns a dataclass field without default, described here instead of in the class's docstring."""
    return field(metadata={_MEANING: meaning})


def meaning_of(entry: Field[Any]) -> str:
    """Returns the description given to `omitted` or `described`; empty if there is none."""
    return str(entry.metadata.get(_MEANING, ""))


def is_omitted(entry: Field[Any]) -> bool:
    """Returns whether a dataclass field is omitted from the JSON object if it is None."""
    return _OMITTED in entry.metadata


def plain(value: Any) -> Any:
    """Converts a record to JSON types: dictionaries, lists, strings, numbers.

    Args:
        value: a dataclass, a mapping, a sequence, or a value of a JSON type.

    Returns:
        Dictionaries with string keys, fields in the order of the dataclass, and lists.
    """
    if is_dataclass(value):
        present = ((f, getattr(value, f.name)) for f in fields(value))
        return {f.name: plain(v) for f, v in present if v is not None or not is_omitted(f)}
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return value


def read_record(path: Path, kind: type[Record], *, opened: Callable[[int], object] | None = None) -> Record:
    """Reads a record from a JSON file.

    Args:
        path: the file.
        kind: the dataclass of the record.
        opened: called with the descriptor of the open file before it is read.

    Raises:
        ParameterError: the file is missing, is not JSON, does not fit the dataclass, or has a newer format.
    """
    import msgspec  # imported only to read results

    try:
        record = msgspec.json.decode(read_bytes(path, RESULT_BYTES, opened=opened), type=kind)
    except FileError as error:
        if error.missing:
            missing = FileError(f"{path.parent} does not contain complete results: {path.name} is missing")
            missing.missing = True
            raise missing from None
        raise
    except (ValueError, RecursionError) as error:  # errors of msgspec and UTF-8 are ValueErrors
        raise ParameterError(f"{path} is damaged or not from PolarLab: {error}") from None
    version = getattr(record, "format", FORMAT)
    if version > FORMAT:
        raise ParameterError(f"{path} must have format {FORMAT} or older, got {version}; update PolarLab")
    return record

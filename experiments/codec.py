"""Records as JSON: typed dataclasses written as objects and read back.

A field made by `omitted` is left out of the object where it is None; every other field is always there.
Readers pass over keys that they do not know, so that newer files can be read by older code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, field, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from topology.errors import ParameterError
from topology.files.reading import RESULT_BYTES, FileError, read_bytes

# Version of the meaning of the records' keys. Keys may be added without a new one.
FORMAT = 1
Record = TypeVar("Record")

_OMITTED, _MEANING = "omitted where None", "meaning"


def omitted(meaning: str = "") -> Any:
    """Returns a dataclass field that is None by default, and then left out of the JSON object.

    Args:
        meaning: what it is, of a field that no docstring describes.
    """
    return field(default=None, metadata={_OMITTED: True, _MEANING: meaning})


def described(meaning: str) -> Any:
    """Returns a dataclass field without a default whose meaning is here, not in a docstring."""
    return field(metadata={_MEANING: meaning})


def meaning_of(entry: Field[Any]) -> str:
    """Returns the meaning of a dataclass field that no docstring describes; empty of others."""
    return str(entry.metadata.get(_MEANING, ""))


def is_omitted(entry: Field[Any]) -> bool:
    """Returns whether a field of a dataclass is left out of the JSON object where it is None."""
    return _OMITTED in entry.metadata


def plain(value: Any) -> Any:
    """Returns a record as JSON can carry it: objects, lists, strings, numbers.

    Args:
        value: a dataclass, a mapping, a sequence, or what JSON has itself.

    Returns:
        The same as dictionaries (keys as text) and lists; fields in the order of the dataclass.
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
    """Returns the record that a JSON file holds.

    Args:
        path: the file.
        kind: the dataclass of the record.
        opened: called with the descriptor of the open file whose content is returned.

    Raises:
        ParameterError: the file is missing, it is not JSON, its content does not fit the dataclass, or it
            has a newer format.
    """
    import msgspec  # only where results are read

    try:
        record = msgspec.json.decode(read_bytes(path, RESULT_BYTES, opened=opened), type=kind)
    except FileError as error:
        if error.missing:
            raise ParameterError(
                f"{path.parent} does not hold complete results: {path.name} is missing"
            ) from None
        raise
    except (ValueError, RecursionError) as error:  # msgspec's errors and those of UTF-8 are ValueErrors
        raise ParameterError(f"{path} is damaged or not of PolarLab: {error}") from None
    version = getattr(record, "format", FORMAT)
    if version > FORMAT:
        raise ParameterError(f"{path} must be of format {FORMAT} or older, got {version}; update PolarLab")
    return record

"""Records as JSON: typed dataclasses written as objects and read back.

A field made by `omitted` is left out of the object if it is None; every other field is always present.
Readers ignore unknown keys, so that older code can read newer files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, field, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from topology.errors import ParameterError
from topology.files.reading import RESULT_BYTES, FileError, read_bytes

# Version of the meaning of the records' keys. Adding keys does not need a new version.
FORMAT = 1
Record = TypeVar("Record")

_OMITTED, _MEANING = "omitted where None", "meaning"


def omitted(meaning: str = "") -> Any:
    """Returns a dataclass field that is None by default and is then left out of the JSON object.

    Args:
        meaning: description of the field, if no docstring has it.
    """
    return field(default=None, metadata={_OMITTED: True, _MEANING: meaning})


def described(meaning: str) -> Any:
    """Returns a dataclass field without a default; `meaning` describes it instead of a docstring."""
    return field(metadata={_MEANING: meaning})


def meaning_of(entry: Field[Any]) -> str:
    """Returns the description that a dataclass field carries itself; empty if a docstring has it."""
    return str(entry.metadata.get(_MEANING, ""))


def is_omitted(entry: Field[Any]) -> bool:
    """Returns whether a dataclass field is left out of the JSON object if it is None."""
    return _OMITTED in entry.metadata


def plain(value: Any) -> Any:
    """Converts a record to values that JSON can represent.

    Args:
        value: a dataclass, a mapping, a sequence, or a JSON value.

    Returns:
        Dictionaries with text keys, lists and JSON values; fields keep the order of the dataclass.
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
        opened: called with the descriptor of the open file before its content is returned.

    Raises:
        ParameterError: the file is missing, it is not JSON, its content does not fit the dataclass, or it
            has a newer format.
    """
    import msgspec  # loaded only to read results

    try:
        record = msgspec.json.decode(read_bytes(path, RESULT_BYTES, opened=opened), type=kind)
    except FileError as error:
        if error.missing:
            raise ParameterError(f"{path.parent} has no complete results: {path.name} is missing") from None
        raise
    except (ValueError, RecursionError) as error:  # msgspec's errors and those of UTF-8 are ValueErrors
        raise ParameterError(f"{path} is damaged or not of PolarLab: {error}") from None
    version = getattr(record, "format", FORMAT)
    if version > FORMAT:
        raise ParameterError(f"{path} must be of format {FORMAT} or older, got {version}; update PolarLab")
    return record

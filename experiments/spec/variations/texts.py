"""Texts of variations: `KEY=VALUES`, taken apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from topology.errors import UsageError
from topology.files.shown import quoted

# Options of a run -> the options of a sweep that are lists of their values.
SHORT_FORMS: Mapping[str, str] = {"routing": "routings", "pattern": "patterns", "load": "loads"}


def given_values(texts: Iterable[str]) -> dict[str, str]:
    """Returns key -> values, as a text, of variations like `queue=8,32`.

    Raises:
        UsageError: a text has another form, or a key is given twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        key, _, values = (part.strip() for part in text.partition("="))
        if not (key and values):
            raise UsageError(
                f"--vary must be KEY=VALUES, as queue=8,32 or ugal-pf.threshold=0.3:0.9:0.1, got "
                f"{quoted(text)}"
            )
        if key in found:
            raise UsageError(f"--vary {key} must be given once, got it twice; list all its values in one")
        found[key] = values
    return found


def varied_options(texts: Iterable[str]) -> dict[str, str]:
    """Returns the options in whose place variations stand -> the keys of these.

    Args:
        texts: variations, as `queue=8,32` or `load=0.1,0.5`.

    Raises:
        UsageError: a text has another form, or a key is given twice.
    """
    return {SHORT_FORMS.get(key, key): key for key in given_values(texts) if "." not in key}

"""Rates, times and sizes as users write them: a number and a unit, such as `2Mbit`, `300ms` or `64KiB`."""

from __future__ import annotations

import re
from decimal import Decimal

from topology.errors import ParameterError
from topology.files.escaping import quoted

RATE, SECONDS, MILLISECONDS, BYTES = "bit/s", "s", "ms", "bytes"  # units of the numbers

# Longer numbers mean nothing here, and would exceed the range and the precision of Decimal.
_NUMBER = r"\d{1,15}(?:\.\d{1,30})?|\.\d{1,30}"
_FORM = re.compile(rf"({_NUMBER}) ?([a-z/]+)", re.ASCII | re.IGNORECASE)
_BARE = re.compile(_NUMBER, re.ASCII)
_PREFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_BITS = ("bit", "bits", "bit/s", "bitps", "bps", "b", "b/s")
_TIMES = {"us": "1e-6", "ms": "1e-3", "s": "1", "min": "60", "h": "3600"}
_FACTORS = {
    RATE: {
        **{prefix: Decimal(_PREFIXES[prefix]) for prefix in "kmg"},
        **{f"{prefix}{bits}": Decimal(factor) for prefix, factor in _PREFIXES.items() for bits in _BITS},
    },
    SECONDS: {name: Decimal(text) for name, text in _TIMES.items()},
    MILLISECONDS: {name: Decimal(text) * 1000 for name, text in _TIMES.items()},
    BYTES: {f"{prefix}b": Decimal(factor) for prefix, factor in _PREFIXES.items()},
}
UNITS = frozenset(_FACTORS)
_RATE_WITHOUT_BITS = re.compile(r"([kKmMgG])[iI]")
_BYTES_OF_RATE = re.compile(r"([kKmMgG]?i?)B(?:/s|ps)?")
_SIZE_WITHOUT_BYTES, _BITS_OF_SIZE = re.compile(r"[kKmMgG]"), re.compile(r"([kKmMgG])b")


def quantity(name: str, text: str, unit: str) -> Decimal | None:
    """Returns the number that a text with a unit represents.

    Args:
        name: what the number is, for messages.
        text: a number and a unit in any case: a rate such as `10M`, `10Mbit` or `10Mbps`, a time such as
            `300ms`, `5s` or `2min`, or a size such as `64KB` (64,000 bytes) or `64KiB` (65,536 bytes).
        unit: the unit of the result: RATE, SECONDS, MILLISECONDS or BYTES.

    Returns:
        The number; None if the text is not a number with a unit of that kind.

    Raises:
        ParameterError: the text has two readings; the message names both.
    """
    matched = _FORM.fullmatch(text.strip())
    if not matched or unit not in UNITS:
        return None
    number, written = Decimal(matched[1]), matched[2]
    if readings := _readings(number, written, unit):
        raise ParameterError(f"{name} must be unambiguous, got {quoted(text)}; write {' or '.join(readings)}")
    factor = _FACTORS[unit].get(written.lower())
    return None if factor is None else number * factor


def number_of(name: str, text: str, unit: str) -> Decimal | None:
    """Returns the number that a text represents, in `unit`; a text without a unit is already in `unit`.

    Args:
        name: what the number is, for messages.
        text: a number, with or without a unit.
        unit: the unit of the result: RATE, SECONDS, MILLISECONDS, BYTES, or another one, such as `cycles`,
            for which the text must be a bare number.

    Returns:
        The number; None if the text is not a number of that kind.

    Raises:
        ParameterError: the text has two readings; the message names both.
    """
    return Decimal(text) if _BARE.fullmatch(text) else quantity(name, text, unit)


def _readings(number: Decimal, written: str, unit: str) -> tuple[str, ...]:
    """Returns both meanings of a number with an ambiguous unit, each in an unambiguous spelling.

    For example, 5 `m` of time is `5min` or `5ms`. The tuple is empty if the unit has only one meaning.
    """
    if unit in (SECONDS, MILLISECONDS) and written in ("m", "M"):
        return f"{number}min", f"{number}ms"
    if unit == RATE and (matched := _RATE_WITHOUT_BITS.fullmatch(written)):
        prefix = matched[1]
        return f"{number}{prefix}bit (powers of 1000)", f"{number}{prefix}ibit (powers of 1024)"
    if unit == RATE and (matched := _BYTES_OF_RATE.fullmatch(written)):
        return f"{number}{matched[1]}bit (bits)", f"{8 * number}{matched[1]}bit (bytes)"
    if unit == BYTES and _SIZE_WITHOUT_BYTES.fullmatch(written):
        prefix = written.upper()
        return f"{number}{prefix}B (powers of 1000)", f"{number}{prefix}iB (powers of 1024)"
    if unit == BYTES and (matched := _BITS_OF_SIZE.fullmatch(written)):
        prefix = matched[1].upper()
        return f"{number}{prefix}B (bytes)", f"{number / 8}{prefix}B (bits)"
    return ()

"""Text from files and other programs, made safe for a terminal."""

from __future__ import annotations

import re
import unicodedata

_MAX_CHARACTERS = 100  # characters of a file's content that an error quotes
# Control characters, and characters that change the direction of the following text.
_HIDDEN = frozenset({"Cc", "Cf", "Zl", "Zp"})
_BLANKS = re.compile(" {9,}")


def escape_controls(text: str) -> str:
    r"""Returns a text with all control characters escaped (`\x1b`), including line ends and tabs.

    Args:
        text: any text, such as a file name or a table cell.
    """
    if text.isprintable():
        return text
    return "".join(one if _is_plain(one) else ascii(one)[1:-1] for one in text)


def escape_ambiguous(text: str) -> str:
    r"""Returns a text unchanged if all characters are unambiguous, otherwise marked and escaped as ASCII.

    Letters of other alphabets can look like ASCII, and long runs of blanks push text off the screen.

    Args:
        text: any text, such as a program that root is asked to run.
    """
    if text.isascii() and text.isprintable() and not _BLANKS.search(text):
        return text
    return "[escaped] " + _BLANKS.sub(lambda run: f"[{len(run[0])} blanks]", ascii(text))


def quoted(value: object) -> str:
    """Returns a value from a file as errors quote it: shortened, without control characters.

    Args:
        value: any value of an experiment or result file.
    """
    if isinstance(value, str):
        return repr(value if len(value) <= _MAX_CHARACTERS else value[:_MAX_CHARACTERS] + "...")
    text = repr(value)
    return text if len(text) <= _MAX_CHARACTERS else text[:_MAX_CHARACTERS] + "..."


def _is_plain(character: str) -> bool:
    return unicodedata.category(character) not in _HIDDEN

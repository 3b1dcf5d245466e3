"""Text of files and of other programs as a terminal may show it."""

from __future__ import annotations

import re
import unicodedata

_MOST = 100  # characters of a file's content that an error quotes
# Control characters, and those that change the direction of what follows.
_HIDDEN = frozenset({"Cc", "Cf", "Zl", "Zp"})
_BLANKS = re.compile(" {9,}")


def shown(text: str) -> str:
    r"""Returns a text in which control characters are escaped, as `\x1b`; line ends and tabs, too.

    Args:
        text: any text, as a name of a file or a cell of a table.
    """
    if text.isprintable():
        return text
    return "".join(one if _is_plain(one) else ascii(one)[1:-1] for one in text)


def shown_exactly(text: str) -> str:
    r"""Returns a text as it is if a reader can tell every character, else marked and in Python's ASCII form.

    Letters of other alphabets look like those of ASCII, and blanks push what follows them off the screen.

    Args:
        text: any text, as a program that root is asked to run.
    """
    if text.isascii() and text.isprintable() and not _BLANKS.search(text):
        return text
    return "[escaped] " + _BLANKS.sub(lambda run: f"[{len(run[0])} blanks]", ascii(text))


def quoted(value: object) -> str:
    """Returns a value from a file as an error quotes it: short, and without control characters.

    Args:
        value: a text, or what files of experiments and results can hold.
    """
    if isinstance(value, str):
        return repr(value if len(value) <= _MOST else value[:_MOST] + "...")
    text = repr(value)
    return text if len(text) <= _MOST else text[:_MOST] + "..."


def _is_plain(character: str) -> bool:
    return unicodedata.category(character) not in _HIDDEN

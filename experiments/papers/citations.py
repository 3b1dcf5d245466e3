"""Citations of this software and of the papers that it reproduces, as BibTeX."""

from __future__ import annotations

import re
from importlib.resources import files

from topology.errors import UsageError
from topology.files.escaping import quoted
from topology.parameters import hint, spelled

_KEY = re.compile(r"@\w+\{(.+),")
# Name -> key of a further paper: the one on networks that a paper of that name analyses.
_FURTHER = {"dragonfly": "dragonfly-topology"}


def citations() -> dict[str, str]:
    """Returns key -> BibTeX entry; the software's is `polarlab`, a paper's has the paper's name."""
    text = files(__package__).joinpath("citations.bib").read_text()
    return {match[1]: f"{entry.strip()}\n" for entry in text.split("\n\n") if (match := _KEY.match(entry))}


def citation(name: str) -> str:
    """Returns the BibTeX entry of a paper, or of the software; two for `dragonfly`: analysis and topology.

    Args:
        name: one of the keys of `citations`.

    Raises:
        UsageError: the name is unknown; the message lists all names.
    """
    known = citations()
    key = spelled(name, known)
    if key not in known:
        raise UsageError(f"PAPER must be one of {', '.join(known)}, got {quoted(name)}{hint(name, known)}")
    return "\n".join(known[one] for one in (key, _FURTHER.get(key)) if one)

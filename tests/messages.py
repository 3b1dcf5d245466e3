"""What PolarLab says of wrong use: `make messages` runs every case of tests/data/messages.txt anew.

A case is a command line behind `$`, or a Python expression behind `>>>`. A line before it with `@` makes a
file that it reads, in which `\\n` ends a line. The line after it is the answer: exit status or name of the
error, and the message. To add a case, write its lines, run `make messages`, and read the difference.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from support.fixtures.documents import PACKAGES, ROOT

FILE = Path(__file__).parent / "data" / "messages.txt"
_MODULE = re.compile(rf"\b(?:{'|'.join(PACKAGES)})\b[.\w]*")


class Case(NamedTuple):
    """A case of the file.

    Attributes:
        files: texts by the names of the files that it reads.
        line: the command line or expression, with its mark.
        answer: status or error, and message, as the file has them; empty for a new case.
    """

    files: dict[str, str]
    line: str
    answer: str


def cases(text: str) -> Iterator[Case]:
    """Yields the cases of a file's text."""
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        files = {}
        while lines and lines[0].startswith("@ "):
            name, _, content = lines.pop(0)[2:].partition(" ")
            files[name] = content.replace("\\n", "\n") + "\n"
        if lines:
            yield Case(files, lines[0], "\n".join(lines[1:]))


def answer(case: Case) -> str:
    """Runs a case in a folder of its own, which is the current one meanwhile, and returns its answer."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, content in case.files.items():
            Path(name).write_text(content)
        mark, _, words = case.line.partition(" ")
        return _of_command(words) if mark == "$" else _of_expression(words)


def _of_command(line: str) -> str:
    from polarlab.cli.main import main

    program, *words = shlex.split(line)
    assert program == "polarlab"
    err = io.StringIO()
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()):
        status = main(words)
    return f"{status} {err.getvalue().rstrip()}"


def _of_expression(expression: str) -> str:
    names: dict[str, object] = {"Path": Path}
    for dotted in _MODULE.findall(expression):
        names[dotted.partition(".")[0]] = importlib.import_module(dotted.partition(".")[0])
        for end in re.finditer(r"\.|$", dotted):
            with contextlib.suppress(ImportError):
                importlib.import_module(dotted[: end.start()])
    try:
        return f"no error: {eval(expression, names)!r}"
    except Exception as error:
        return f"{type(error).__name__} {error}"


def written(text: str) -> str:
    """Returns a file's text with the present answers."""
    return "\n\n".join(map(_written, text.rstrip("\n").split("\n\n"))) + "\n"


def _written(block: str) -> str:
    lines = block.splitlines()
    for case in cases(block):  # one, or none in a comment
        lines[lines.index(case.line) + 1 :] = [answer(case)]
    return "\n".join(lines)


def refuse() -> None:
    """Raises an error: no case launches anything, even if it is no wrong use any more."""
    raise RuntimeError("a case of tests/data/messages.txt needs a machine")


if __name__ == "__main__":
    os.environ.pop("COLUMNS", None)
    sys.path.insert(0, str(ROOT))
    importlib.import_module("emulation.requirements").require_emulation = refuse
    FILE.write_text(written(FILE.read_text()))

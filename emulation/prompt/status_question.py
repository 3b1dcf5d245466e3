"""Questions to a shell: the exit status of its last command, its last program in the background."""

from __future__ import annotations

import itertools
import re
import shlex
import time
from typing import NamedTuple

_MOST_CHARACTERS = 4096  # that are kept while the answer is awaited
_LONG_S = 10.0
_numbers = itertools.count(1)


class StatusAnswer(NamedTuple):
    """The exit status, the process that was last put into the background, and whether a prompt followed."""

    status: int
    background_pid: int | None
    prompt_followed: bool


class StatusQuestion:
    """One question.

    The answer comes by the name of the terminal, even if the command has closed standard output and errors,
    and by `eval`, without which no further command can be run.

    Attributes:
        line: the line to send.
    """

    def __init__(self, terminal: str, prompt: str) -> None:
        """Takes the name of the shell's terminal, and its prompt."""
        self._number, self._text, self._asked_s = next(_numbers), "", time.monotonic()
        values = f'{self._number} "$?" "${{!-}}"'
        question = f"\\builtin printf '\\n@%s %s %s\\n' {values} >|{terminal}"
        self.line = f"\\builtin eval {shlex.quote(question)}\n"
        self._pattern = re.compile(rf"@{self._number} (\d{{1,3}}) (\d{{0,10}})\r?\n([^@]*{prompt})?")

    def answer(self, text: str) -> StatusAnswer | None:
        """Returns the answer, if it has come with a text that was printed or with those before."""
        self._text = (self._text + text)[-_MOST_CHARACTERS:]
        found = self._pattern.search(self._text)
        return found and StatusAnswer(int(found[1]), int(found[2]) if found[2] else None, bool(found[3]))

    @property
    def is_old(self) -> bool:
        """Whether it was asked so long ago that the shell should have answered."""
        return time.monotonic() > self._asked_s + _LONG_S

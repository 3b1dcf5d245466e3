"""Asks a shell for the exit status of its last command and for its last background process."""

from __future__ import annotations

import itertools
import re
import shlex
import time
from typing import NamedTuple

_MAX_CHARACTERS = 4096  # of output kept while waiting for the answer
_LONG_S = 10.0
_numbers = itertools.count(1)


class StatusAnswer(NamedTuple):
    """The exit status, the last background process, and whether a prompt followed."""

    status: int
    background_pid: int | None
    prompt_followed: bool


class StatusQuestion:
    """A question to a shell, sent once: the exit status of its last command, and its last background process.

    The shell opens the terminal by its name to answer, because the command may have closed standard output
    and error. The question needs the shell's `eval`, as every other line does.

    Attributes:
        line: the command line to send to the shell.
    """

    def __init__(self, terminal: str, prompt: str) -> None:
        """Prepares a question.

        Args:
            terminal: name of the shell's terminal on its node.
            prompt: the shell's prompt.
        """
        self._number, self._text, self._asked_s = next(_numbers), "", time.monotonic()
        values = f'{self._number} "$?" "${{!-}}"'
        question = f"\\builtin printf '\\n@%s %s %s\\n' {values} >|{terminal}"
        self.line = f"\\builtin eval {shlex.quote(question)}\n"
        self._pattern = re.compile(rf"@{self._number} (\d{{1,3}}) (\d{{0,10}})\r?\n([^@]*{prompt})?")

    def answer(self, text: str) -> StatusAnswer | None:
        """Searches the terminal's output for the answer; returns it if it is complete, else None.

        Args:
            text: the output since the previous call.
        """
        self._text = (self._text + text)[-_MAX_CHARACTERS:]
        match = self._pattern.search(self._text)
        return match and StatusAnswer(int(match[1]), int(match[2]) if match[2] else None, bool(match[3]))

    @property
    def is_old(self) -> bool:
        """Whether the shell should have answered by now."""
        return time.monotonic() > self._asked_s + _LONG_S

"""Failures of a user's programs in words."""

from __future__ import annotations

from pathlib import Path

from experiments.results.parts.programs import ProgramRecord
from topology.files.reading import TABLE_BYTES, FileError, read_bytes

_MOST_CHARACTERS = 200
_NOT_EXECUTABLE, _NOT_FOUND = 126, 127


def failure_text(record: ProgramRecord, folder: Path, timeout_s: float) -> str:
    """Returns a sentence on a program that failed, with its last word.

    Args:
        record: the program.
        folder: the folder of the run.
        timeout_s: longest time of a program in s.
    """
    line = f"`{record.line}`"
    if record.timed_out:
        return f"{line} had not ended after {timeout_s:g} s and was ended; --exec-timeout gives it longer"
    last = last_line(folder / record.errors)
    last += _remedy(record.command, last)
    if record.status in (_NOT_EXECUTABLE, _NOT_FOUND):
        return f"{line} could not be run (status {record.status}){last}"
    if record.status is not None and record.status < 0:
        return f"{line} was ended by signal {-record.status}{last}"
    return f"{line} ended with status {record.status}{last}"


def _remedy(command: str, error: str) -> str:
    """Returns a hint if an error is about a file of the caller, which a host has elsewhere; else nothing."""
    words = (word.strip("'\"") for word in command.split())
    named = next(
        (word for word in words if word in error and word[:1] not in "/." and Path(word).is_file()), ""
    )
    return f"; on hosts it is $POLARLAB_CALLER_DIR/{named}" if named else ""


def last_line(path: Path) -> str:
    """Returns the last line of a file of output behind a colon; nothing if there is none."""
    try:
        # Whoever owns the folder may have put a FIFO or a link there.
        lines = read_bytes(path, TABLE_BYTES)[-4096:].decode(errors="replace").splitlines()
    except FileError:
        return ""
    text = next((line.strip() for line in reversed(lines) if line.strip()), "")
    printable = "".join(character if character.isprintable() else "?" for character in text)
    return f": {printable[:_MOST_CHARACTERS]}" if printable else ""

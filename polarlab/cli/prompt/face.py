"""The prompt on a terminal, and lines from a file, a pipe or the command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from polarlab.api.command_line.events import CommandFailed, PromptOpened
from polarlab.api.command_line.session import (
    FabricSession,
    SessionRecorder,
    private_input,
    run_lines,
    run_stream,
    type_lines,
)
from polarlab.cli.prompt.announcer import Announcer
from polarlab.cli.prompt.commands import SessionPrompt


def serve(
    session: FabricSession,
    announcer: Announcer,
    lines: Sequence[str] | None,
    recorder: SessionRecorder | None = None,
) -> bool:
    """Runs lines until one fails; without any, those of standard input, or those that a user types.

    Args:
        session: the session.
        announcer: what prints events.
        lines: lines to run; None for standard input.
        recorder: what keeps the lines that ran; None if nothing does.

    Returns:
        Whether a line failed that no user has typed.
    """
    failed = False
    if lines:
        failure = run_lines(SessionPrompt(session, announcer, recorder=recorder), lines)
        if failure:
            announcer(CommandFailed(*failure))
            failed = True
    elif sys.stdin.isatty() and sys.stdout.isatty():
        announcer(PromptOpened())
        type_lines(SessionPrompt(session, announcer, sys.stdin, recorder))
    else:
        with private_input() as stream:
            for failure in run_stream(SessionPrompt(session, announcer, recorder=recorder), stream):
                announcer(CommandFailed(*failure))
                failed = True
    return failed

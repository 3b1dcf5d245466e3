"""The prompt on a terminal, and lines from a file, a pipe or the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from polarlab.api.command_line.events import Notice
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
from polarlab.web.address import Web


def serve(
    session: FabricSession,
    announcer: Announcer,
    lines: Sequence[str] | None,
    recorder: SessionRecorder | None = None,
    web: Callable[[Web], str] | None = None,
) -> bool:
    """Runs lines until one fails; without any, those of standard input, or those that a user types.

    Args:
        session: the session.
        announcer: what prints events.
        lines: lines to run; None for standard input.
        recorder: what keeps the lines that ran; None if nothing does.
        web: starts the live page at an address, and returns that; None if there cannot be one.

    Returns:
        Whether a line failed that no user has typed.
    """
    failed = False
    if lines:
        failure = run_lines(SessionPrompt(session, announcer, recorder=recorder, web=web), lines)
        if failure:
            announcer(Notice("command-failed", **failure._asdict()))
            failed = True
    elif sys.stdin.isatty() and sys.stdout.isatty():
        announcer(Notice("prompt-opened"))
        type_lines(SessionPrompt(session, announcer, sys.stdin, recorder, web))
    else:
        with private_input() as stream:
            for failure in run_stream(SessionPrompt(session, announcer, recorder=recorder, web=web), stream):
                announcer(Notice("command-failed", **failure._asdict()))
                failed = True
    return failed

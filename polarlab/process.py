"""Processes of a command: its own, with exit status, signals and folders of programs, and a fabric's."""

from __future__ import annotations

from emulation.cleanup import END_SIGNALS, MarkedProcess, described, left_behind
from emulation.subprocesses import add_administration_folders
from topology.exit_status import Status, Terminated, internal_text, known_status
from topology.files.libraries import run_as_command
from topology.files.shown import shown, shown_exactly

__all__ = [
    "END_SIGNALS",
    "MarkedProcess",
    "Status",
    "Terminated",
    "add_administration_folders",
    "described",
    "internal_text",
    "known_status",
    "left_behind",
    "run_as_command",
    "shown",
    "shown_exactly",
]

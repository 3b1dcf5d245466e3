"""The process of a command: its exit status, its signals, and the folders of its programs."""

from __future__ import annotations

from emulation.subprocesses import END_SIGNALS, add_administration_folders
from topology.errors import Status, Terminated, internal_text, known_status
from topology.files.libraries import run_as_command
from topology.files.shown import shown, shown_exactly

__all__ = [
    "END_SIGNALS",
    "Status",
    "Terminated",
    "add_administration_folders",
    "internal_text",
    "known_status",
    "run_as_command",
    "shown",
    "shown_exactly",
]

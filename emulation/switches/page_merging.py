"""Merging of equal memory pages of a fabric's switches, by the kernel's KSM (kernel samepage merging).

Most of a switch's memory, 9 of 12 MiB, is a cache that ovs-vswitchd fills with the same values at its start.
Programs started in a `with offered()` block let the kernel keep one copy of equal pages; a page is copied
again when a program writes to it. The kernel thread that searches for equal pages runs from `begin_search` to
`end_search`, which restores its settings. A search that the machine's owner already runs is left alone.

Offering pages needs Linux 6.4. Some later versions drop the offer when a process starts a program, and a
kernel may be built without merging; both are detected (6.18 works).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import subprocess
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import psutil

KSM = Path("/sys/kernel/mm/ksm")
# Without pauses, the search takes seconds of CPU time for a thousand switches. Run during their start, it
# made the start take half as long again; so it runs afterwards, or when memory is short.
SEARCH = {"pages_to_scan": "5000", "sleep_millisecs": "0", "use_zero_pages": "1", "run": "1"}
HARDLY_MORE = 1.02  # the search ends when a pass increases the merged pages by less than this factor
_PR_SET_MEMORY_MERGE, _PR_GET_MEMORY_MERGE = 67, 68
_POLL_INTERVAL_S, _TIMEOUT_S = 0.02, 120.0
CLEAN_UP_TIMEOUT_S = 5.0
_PASSES = 3  # after this many, all equal pages are merged
_RESERVE = 1 / 6  # fraction of free memory below which starts wait for merging
_libc = ctypes.CDLL(None, use_errno=True)


@cache
def merging_available() -> bool:
    """Returns whether the kernel can merge pages that programs offer, and this process may start it."""
    if _get("run") is None or _libc.prctl(_PR_GET_MEMORY_MERGE, 0, 0, 0, 0) < 0:
        return False
    try:
        (KSM / "run").write_text(_get("run") or "")
    except OSError:  # for example in containers
        return False
    with offered():
        # Some kernels drop the offer when a process starts another program.
        search = ["grep", "-qE", "^VmFlags:.* mg", "/proc/self/smaps"]
        return subprocess.run(search, check=False, capture_output=True).returncode == 0


@contextlib.contextmanager
def offered() -> Iterator[None]:
    """Offers the pages of all programs started in the block for merging, if the kernel supports it."""
    if _libc.prctl(_PR_GET_MEMORY_MERGE, 0, 0, 0, 0):  # offered already, or unknown to this kernel
        yield
        return
    _libc.prctl(_PR_SET_MEMORY_MERGE, 1, 0, 0, 0)
    try:
        yield
    finally:
        _libc.prctl(_PR_SET_MEMORY_MERGE, 0, 0, 0, 0)


def begin_search(note: Path) -> None:
    """Starts the kernel's search for equal pages, unless it is already running.

    Args:
        note: file for the previous settings, from which `end_search`, perhaps in another process, restores
            them.
    """
    previous = {name: _get(name) for name in SEARCH}
    if previous["run"] != "0" or None in previous.values():
        return
    note.write_text(json.dumps(previous))
    for name, value in SEARCH.items():
        _set(name, value)


def end_search(note: Path) -> None:
    """Restores the settings from before `begin_search`, if it was called; merged pages stay merged.

    Args:
        note: the file of `begin_search`, which stays until `clean_up`.
    """
    try:
        previous: dict[str, str] = json.loads(note.read_text())
    except (OSError, ValueError):
        return
    for name, value in reversed(previous.items()):  # `run` first, which was set last
        if name in SEARCH and _get(name) == SEARCH[name]:  # else someone else has set it since
            _set(name, value)
    note.write_text("{}")  # nothing is left to restore


def clean_up(note: Path) -> None:
    """Ends a search of this process or an earlier one, and frees the kernel's records of pages.

    The kernel frees the records in the next pass after the programs have ended; those of a million pages
    take 100 MiB.

    Args:
        note: the file of `begin_search`, which is removed; without it, nothing was merged.
    """
    if not note.exists():
        return
    end_search(note)
    if _get("run") == "0":
        begin_search(note)
        last, deadline = _counter("full_scans") + _PASSES, time.monotonic() + CLEAN_UP_TIMEOUT_S
        while _counter("full_scans") < last and time.monotonic() < deadline:
            time.sleep(_POLL_INTERVAL_S)
        end_search(note)
    note.unlink()


class PageMerging:
    """Merging of the pages of one fabric's switches."""

    def __init__(self, note: Path) -> None:
        """Prepares for a search.

        Args:
            note: file for the previous settings, as for `begin_search`.
        """
        self._note = note
        self._ended = threading.Event()
        self._waiting: threading.Thread | None = None

    @contextlib.contextmanager
    def of_programs(self) -> Iterator[None]:
        """Merges pages of the programs started in the block; the search starts at the block's end."""
        with offered():
            yield
        begin_search(self._note)
        self._waiting = threading.Thread(target=self._wait_and_end, daemon=True)
        self._waiting.start()

    def make_room(self) -> None:
        """Starts the search if memory is short, and waits until some is free or all pages were searched."""
        if not _memory_is_short():
            return
        begin_search(self._note)
        last = _counter("full_scans") + _PASSES
        while _memory_is_short() and _get("run") == "1" and _counter("full_scans") < last:
            if self._ended.wait(_POLL_INTERVAL_S):
                return

    def finish(self) -> None:
        """Waits some seconds until the search has ended: it must not run during measurements."""
        if self._waiting:
            self._waiting.join()

    def end(self) -> None:
        """Ends the search at once."""
        self._ended.set()
        self.finish()
        end_search(self._note)

    def _wait_and_end(self) -> None:
        """Ends the search when a whole pass has merged hardly any more pages."""
        deadline, merged, passes = time.monotonic() + _TIMEOUT_S, 0, _counter("full_scans")
        while _get("run") == "1" and time.monotonic() < deadline and not self._ended.wait(_POLL_INTERVAL_S):
            if _counter("full_scans") <= passes:
                continue
            before, merged, passes = merged, _counter("pages_sharing"), _counter("full_scans")
            if 0 < merged < before * HARDLY_MORE:
                break
        end_search(self._note)


def _memory_is_short() -> bool:
    memory = psutil.virtual_memory()
    return bool(memory.available < _RESERVE * memory.total)


def _counter(name: str) -> int:
    return int(_get(name) or 0)


def _get(name: str) -> str | None:
    """Returns a setting or a counter of KSM; None if the kernel does not have it."""
    try:
        return (KSM / name).read_text().strip()
    except OSError:
        return None


def _set(name: str, value: str) -> None:
    with contextlib.suppress(OSError):  # fewer pages are merged then, or later
        (KSM / name).write_text(value)

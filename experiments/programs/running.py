"""A user's programs in a run: servers start first, the others together; all are stopped at the end."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from emulation.programs import NodeProgram, ProgramSupervisor, wait_until_listening
from experiments.events.base import OnEvent
from experiments.events.notices import Notice
from experiments.events.progress import ProgramsProgress
from experiments.live_fabric import LiveFabric
from experiments.results.parts.programs import ProgramRecord
from experiments.spec.programs import NO_OPTIONS, Program, ProgramOptions
from topology.files.reading import TABLE_BYTES, FileError, read_bytes
from topology.files.writing import make_folder
from traffic.metrics.measurements import Clock

FOLDER = "programs"
_POLL_INTERVAL_S = 0.05


@dataclass(frozen=True)
class ProgramPlan:
    """Programs of the runs of an experiment.

    Attributes:
        options: the programs.
        folder_of: seed of a run -> folder of its results.
    """

    options: ProgramOptions = NO_OPTIONS
    folder_of: Callable[[int], Path] = lambda _seed: Path()

    def kept_in(self, seed: int) -> Path | None:
        """Returns the results folder of the run with this seed; None if runs have no folders."""
        return None if self is NO_PROGRAMS else self.folder_of(seed)


NO_PROGRAMS = ProgramPlan()


class RunningPrograms:
    """Programs of one run; a context manager that starts the servers on entry and ends all on exit."""

    def __init__(self, fabric: LiveFabric, plan: ProgramPlan, seed: int, on_event: OnEvent) -> None:
        self._fabric, self._options, self._on_event = fabric, plan.options, on_event
        self._folder = plan.folder_of(seed)
        self._opened = contextlib.ExitStack()
        self._running: dict[int, NodeProgram] = {}  # index among the options' programs -> running program
        self._timed_out: set[int] = set()
        self._stopped: set[int] = set()
        self._reported: set[int] = set()  # servers whose early end was reported
        self._start_s = time.monotonic()
        self._over = threading.Event()
        self._guard = threading.Thread(target=self._end_in_time, daemon=True)

    def __enter__(self) -> RunningPrograms:
        if self._options.programs:
            make_folder(self._folder / FOLDER)
            self._opened.enter_context(self._fabric.network.working_folders_in(self._folder))
            self._supervisor = self._opened.enter_context(ProgramSupervisor())
            try:
                self._start_servers()
            except BaseException:
                self._opened.close()
                raise
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop_guard()
        self._opened.close()

    def start(self, clock: Clock) -> None:
        """Starts all programs except servers; `clock` has the start of the traffic."""
        self._start_s = clock.monotonic_ns / 1e9
        for place, program in enumerate(self._options.programs):
            if not program.server:
                self._start(place, program)
        if self._options.programs:
            self._on_event(Notice("programs-started", programs=len(self._options.programs)))
            self._guard.start()

    def wait(self) -> bool:
        """Waits until all programs except servers have ended, by themselves or at the timeout.

        Returns:
            Whether Ctrl-C ended them early.
        """
        try:
            while (waiting := self._waiting()) and self._guard.is_alive():
                lines = tuple(self._options.programs[place].line for place in waiting)
                seconds = time.monotonic() - self._start_s
                self._on_event(ProgramsProgress(seconds, lines, self._options.timeout_s))
                time.sleep(_POLL_INTERVAL_S)
        except (KeyboardInterrupt, SystemExit):
            return True
        return False

    def end(self) -> None:
        """Ends all programs that still run, including servers, and reports the failed ones."""
        self._stop_guard()
        left = {place: program for place, program in self._running.items() if program.running}
        self._stopped |= left.keys() - self._timed_out
        if left:
            self._supervisor.end(left.values())
        self._opened.close()
        for place in sorted(self._running.keys() - self._reported):
            record = self._record(place)
            if record.failed:
                self._on_event(
                    Notice(
                        "program-failed", failure=failure_text(record, self._folder, self._options.timeout_s)
                    )
                )

    @property
    def ended_s(self) -> float:
        """Seconds from the start of the traffic until the last program that is not a server ended."""
        ends = [p.ended_s for n, p in self._running.items() if not self._options.programs[n].server]
        return max((end - self._start_s for end in ends if end is not None), default=0.0)

    def records(self) -> tuple[ProgramRecord, ...]:
        """Returns the programs that were started, in their given order."""
        return tuple(self._record(place) for place in sorted(self._running))

    def _record(self, place: int) -> ProgramRecord:
        program, running = self._options.programs[place], self._running[place]
        ended_by_us = place in self._timed_out or place in self._stopped
        output, errors = running.output, running.errors
        return ProgramRecord(
            host=program.host,
            command=program.command,
            server=program.server,
            status=None if ended_by_us else running.status,
            started_s=round(running.started_s - self._start_s, 4),
            ended_s=None if running.ended_s is None else round(running.ended_s - self._start_s, 4),
            output=f"{FOLDER}/{output.path.name}",
            errors=f"{FOLDER}/{errors.path.name}",
            cut_off=output.cut_off or errors.cut_off,
            timed_out=place in self._timed_out,
        )

    def _start_servers(self) -> None:
        servers = {place: p for place, p in enumerate(self._options.programs) if p.server}
        for place, program in servers.items():
            self._start(place, program)
        silent = wait_until_listening(self._running.values())
        for place, running in self._running.items():
            if running in silent:
                self._on_event(Notice("server-not-listening", line=servers[place].line))
            elif not running.running:
                self._reported.add(place)
                last = last_line(self._supervisor.take_errors(running))
                self._on_event(
                    Notice("server-ended", line=servers[place].line, status=running.status or 0, last=last)
                )

    def _start(self, place: int, program: Program) -> None:
        name = f"{place + 1}-{program.host}"
        self._running[place] = self._supervisor.start(
            self._fabric.network[program.host].start_program,
            program.command,
            self._folder / FOLDER / f"{name}.out",
            self._folder / FOLDER / f"{name}.err",
        )

    def _end_in_time(self) -> None:
        """Ends the programs that reach the timeout, while traffic continues."""
        if self._over.wait(max(0.0, self._start_s + self._options.timeout_s - time.monotonic())):
            return
        waiting = self._waiting()
        self._timed_out |= waiting.keys()
        self._supervisor.end(waiting.values())

    def _stop_guard(self) -> None:
        self._over.set()
        if self._guard.is_alive():
            self._guard.join()

    def _waiting(self) -> dict[int, NodeProgram]:
        """Returns the running programs except servers."""
        programs = self._options.programs
        return {n: p for n, p in self._running.items() if p.running and not programs[n].server}


_MAX_CHARACTERS = 200
_NOT_EXECUTABLE, _NOT_FOUND = 126, 127


def failure_text(record: ProgramRecord, folder: Path, timeout_s: float) -> str:
    """Returns a sentence on a program that failed, with the last line of its errors.

    Args:
        record: the program.
        folder: the folder of the run.
        timeout_s: timeout of a program in s.
    """
    line = f"`{record.line}`"
    if record.timed_out:
        return f"{line} did not finish within {timeout_s:g} s and was stopped; raise --exec-timeout"
    last = last_line(folder / record.errors)
    last += _remedy(record.command, last)
    if record.status in (_NOT_EXECUTABLE, _NOT_FOUND):
        return f"{line} could not be run (status {record.status}){last}"
    if record.status is not None and record.status < 0:
        return f"{line} was killed by signal {-record.status}{last}"
    return f"{line} ended with status {record.status}{last}"


def _remedy(command: str, error: str) -> str:
    """Returns a hint if an error names a file in the caller's folder, which hosts see under another path."""
    words = (word.strip("'\"") for word in command.split())
    named = next(
        (word for word in words if word in error and word[:1] not in "/." and Path(word).is_file()), ""
    )
    return f"; its path on hosts is $POLARLAB_CALLER_DIR/{named}" if named else ""


def last_line(path: Path) -> str:
    """Returns a colon and the last line of an output file; an empty text if there is none."""
    try:
        # The folder's owner may have replaced the file by a FIFO or a link.
        lines = read_bytes(path, TABLE_BYTES)[-4096:].decode(errors="replace").splitlines()
    except FileError:
        return ""
    text = next((line.strip() for line in reversed(lines) if line.strip()), "")
    printable = "".join(character if character.isprintable() else "?" for character in text)
    return f": {printable[:_MAX_CHARACTERS]}" if printable else ""

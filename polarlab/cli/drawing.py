"""Draws figures in processes that load matplotlib while the command computes."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

import polarlab
from polarlab.process import usable_cores

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.figure import Figure

    from polarlab.api.command_line.records import Results

_LIBRARY = "matplotlib"
_STDERR = 2


class Draughtsman:
    """A second process that draws results of one kind, so that matplotlib loads while the command computes.

    It is a context manager and ends with its block at the latest. With one core, or if matplotlib is already
    loaded, the command's own process draws.
    """

    def __init__(self, kind: type[Results]) -> None:
        """Prepares the process, which starts with the block.

        Args:
            kind: class of the results to draw.
        """
        self._kind = kind

    def __enter__(self) -> Self:
        self._pipe: Connection | None = None
        if usable_cores() > 1 and _LIBRARY not in sys.modules:
            context = get_context("fork")
            self._pipe, other = context.Pipe()
            self._process = context.Process(target=_serve, args=(self._kind, other, self._pipe), daemon=True)
            self._process.start()
            other.close()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._pipe:
            if self._process.pid:
                with contextlib.suppress(ProcessLookupError):  # the process has not called `setsid` yet
                    os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()
            self._process.join()
            self._pipe.close()

    def draw(self, results: Results) -> list[Path]:
        """Draws the figures of results into their folder and returns the files.

        Args:
            results: the results.

        Raises:
            ParameterError: the results are damaged.
            OSError: a figure cannot be written.
        """
        if self._pipe:
            try:
                self._pipe.send(results.folder)
                files: list[Path] = self._pipe.recv()
                return files
            except (EOFError, OSError):
                pass  # draw in this process, which reports the error
        return results.plot().save()


def _serve(kind: type[Results], pipe: Connection, other: Connection) -> None:
    """Runs in the second process: receives a folder of results, draws them, and sends the names of files.

    Args:
        kind: class of the results.
        pipe: this process's end of the pipe.
        other: the command's end of it, which this process closes.
    """
    other.close()  # otherwise the pipe would stay open when the command ends
    os.setsid()  # Ctrl-C in the terminal then reaches only the command
    os.dup2(os.open(os.devnull, os.O_WRONLY), _STDERR)  # after an error, the command itself draws
    kind.kind.load()
    figures = kind(pipe.recv()).plot()
    assert figures.folder is not None
    _save(figures, figures.folder)
    pipe.send([figures.folder / f"{name}.{ending}" for name in figures for ending in figures.formats])


def _save(figures: polarlab.Figures, folder: Path) -> None:
    """Saves figures with two processes, each of which draws about half of all artists (lines, texts etc.)."""
    halves: list[dict[str, Figure]] = [{}, {}]
    sizes = [0, 0]
    for size, name in sorted(((len(figures[name].findobj()), name) for name in figures), reverse=True):
        half = sizes.index(min(sizes))
        sizes[half] += size
        halves[half][name] = figures[name]
    child = os.fork()
    if not child:
        try:
            polarlab.Figures(halves[1]).save(folder)
        except BaseException:
            os._exit(1)
        os._exit(0)
    polarlab.Figures(halves[0]).save(folder)
    if os.waitpid(child, 0)[1]:
        raise OSError(f"figures cannot be written into {folder}")

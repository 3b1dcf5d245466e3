"""Approval of actions that another user's files request from root: run programs, write and read files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from emulation.hosts.identity import REAL_ROOT
from experiments.spec.experiment import Experiment
from experiments.spec.programs import NEED, lines_of_programs
from topology.errors import UsageError
from topology.files.foreign import Foreign, read_judged
from topology.files.reading import SETTINGS_BYTES

_EXEC, _EXEC_FILE, _OUT, _HOST_ROOT = "exec", "exec-file", "out", "host-root"


class Demands(NamedTuple):
    """Actions that files of other users request from root.

    Attributes:
        reason: clause that names the file and its owner.
        programs: command lines on hosts and switches.
        others: clauses about files to read and folders to write.
    """

    reason: str
    programs: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def refusal(self) -> str:
        """The text of the error if the user does not approve, or cannot be asked."""
        count = len(self.programs)
        programs = [f"{count} program{'s' * (count > 1)}"] if count else []
        wanted = " and ".join((*programs, *self.others))
        return f"{self.reason}, and asks root for {wanted}; check the file, then give --run-programs"


def approved(experiment: Experiment, approves: Callable[[Demands], bool]) -> Experiment:
    """Returns an experiment that root may run, with exactly the approved programs.

    Args:
        experiment: the experiment.
        approves: called if another user's files request actions; returns whether the user approves them.

    Raises:
        UsageError: the user does not approve the actions, or the programs cannot be read.
    """
    source = experiment.source
    foreign = source.foreign if source else None
    with experiment.errors_located():
        listed_lines, listed = _listed_programs(experiment)
    values = dict(experiment.values)
    if listed is not None:  # nobody opens the file again, so its owner cannot change what runs
        values[_EXEC] = (*values.get(_EXEC, ()), *listed_lines)
        del values[_EXEC_FILE]
    demands = _demands(experiment, foreign, listed_lines, listed)
    if demands is None:
        return experiment
    if not approves(demands):
        raise UsageError(demands.refusal)
    return replace(experiment, values=values, source=source and replace(source, foreign=None))


def _listed_programs(experiment: Experiment) -> tuple[list[str], Foreign | None]:
    """Returns the programs in the file of --exec-file, and the other user who owns or named the file.

    If there is no such user, the result is an empty list and None; otherwise the file must contain a program.
    """
    file = experiment.values.get(_EXEC_FILE)
    if file is None or os.geteuid():
        return [], None
    path = Path(file)
    text, foreign = read_judged(path, SETTINGS_BYTES, need=NEED)
    given = experiment.source and experiment.source.foreign
    if foreign is None and given and _EXEC_FILE in given.options:
        foreign = given
    return [line for _, line in lines_of_programs(text, path)] if foreign else [], foreign


def _demands(
    experiment: Experiment, foreign: Foreign | None, listed_lines: Sequence[str], listed: Foreign | None
) -> Demands | None:
    """Returns the actions that files of other users request from root; None if they request none.

    Args:
        experiment: the experiment.
        foreign: another user's experiment file, with the options that it gives; None if there is none.
        listed_lines: command lines from another user's file of programs.
        listed: that file; None if there is none.
    """
    values = experiment.values
    # On the other engine, options of the file that do not apply there are dropped.
    given = foreign.options & values.keys() if foreign else frozenset()
    programs = [*(values.get(_EXEC, ()) if _EXEC in given else ()), *listed_lines]
    others = []
    if _HOST_ROOT in given and values[_HOST_ROOT] == REAL_ROOT:
        others.append(f"programs on hosts to run as root of this machine (--{_HOST_ROOT} {REAL_ROOT})")
    if _OUT in given:
        others.append(f"results in {values[_OUT]}")
    home = Path(os.path.abspath(foreign.path)).parent if foreign else Path()
    for name, files in experiment.input_files.items():
        outside = [one for one in files if not Path(os.path.abspath(one)).is_relative_to(home)]
        if name in given and not (name == _EXEC_FILE and listed_lines):
            others += [f"{file} read as --{name}" for file in outside]
    whose = foreign or listed
    if whose is None or not (programs or others):
        return None
    return Demands(whose.reason, tuple(programs), tuple(others))

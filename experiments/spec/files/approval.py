"""Approval of what files of other users would have root do: run programs, write folders, read files."""

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
    """What files of other users would have root do.

    Attributes:
        reason: whose files they are, a clause.
        programs: command lines on hosts and switches.
        others: files to read and folders to write, a clause each.
    """

    reason: str
    programs: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def refusal(self) -> str:
        """The message for those who cannot be asked."""
        count = len(self.programs)
        what = f"{count} program{'s' * (count > 1)}" if count else self.others[0]
        return f"{self.reason}, and asks root for {what}; look at the file, then give --run-programs"


def approved(experiment: Experiment, approves: Callable[[Demands], bool]) -> Experiment:
    """Returns an experiment that root may measure, with exactly the programs that were approved.

    Args:
        experiment: the experiment.
        approves: returns whether what files of other users would have root do is approved; it is called only
            where there are such demands.

    Raises:
        UsageError: it is not approved, or its programs cannot be read.
    """
    source = experiment.source
    foreign = source.foreign if source else None
    with experiment.errors_located():
        own_list, listed = _listed_programs(experiment)
    values = dict(experiment.values)
    if listed is not None:  # the lines that are shown are those that run, whatever becomes of the file
        values[_EXEC] = (*values.get(_EXEC, ()), *own_list)
        del values[_EXEC_FILE]
    demands = _demands(experiment, foreign, own_list, listed)
    if demands is None:
        return experiment
    if not approves(demands):
        raise UsageError(demands.refusal)
    return replace(experiment, values=values, source=source and replace(source, foreign=None))


def _listed_programs(experiment: Experiment) -> tuple[list[str], Foreign | None]:
    """Returns the programs of the file that lists them, and that file, if it is another user's."""
    file = experiment.values.get(_EXEC_FILE)
    if file is None or os.geteuid():
        return [], None
    path = Path(file)
    text, foreign = read_judged(path, SETTINGS_BYTES, need=NEED)
    given = experiment.source and experiment.source.foreign
    if foreign is None and given and _EXEC_FILE in given.options:
        foreign = given
    return [line for _, line in lines_of_programs(text)] if foreign else [], foreign


def _demands(
    experiment: Experiment, foreign: Foreign | None, own_list: Sequence[str], listed: Foreign | None
) -> Demands | None:
    """Returns what files of other users would have root do; None if that is nothing but to measure."""
    values, given = experiment.values, foreign.options if foreign else frozenset()
    programs = [*(values.get(_EXEC, ()) if _EXEC in given else ()), *own_list]
    others = []
    if _HOST_ROOT in given and values[_HOST_ROOT] == REAL_ROOT:
        others.append(f"programs on hosts to be root of this machine (--{_HOST_ROOT} {REAL_ROOT})")
    if _OUT in given:
        others.append(f"results in {values[_OUT]}")
    home = Path(os.path.abspath(foreign.path)).parent if foreign else Path()
    for name, files in experiment.input_files.items():
        outside = [one for one in files if not Path(os.path.abspath(one)).is_relative_to(home)]
        if name in given and not (name == _EXEC_FILE and own_list):
            others += [f"{file} read as --{name}" for file in outside]
    whose = foreign or listed
    if whose is None or not (programs or others):
        return None
    return Demands(whose.reason, tuple(programs), tuple(others))

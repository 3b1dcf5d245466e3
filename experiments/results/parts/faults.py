"""Faults of a run and the plans of the controller for them, key by key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topology.faults import Fault


@dataclass(frozen=True)
class InjectedFault:
    """Fault that was injected, or restored.

    Attributes:
        time_s: seconds since the start of the traffic.
        fault: the fault in the words of a fault schedule, as `fail link:s1-s7`.
    """

    time_s: float
    fault: str


@dataclass(frozen=True)
class ReplanRecord:
    """Plan of the controller for a changed fabric.

    Attributes:
        time_s: seconds after the start of the traffic, when the plan was in place.
        failed: names of the failed elements, or `none`.
        rules: number of rules that changed.
        cut_off_pairs: ordered pairs of routers without any path.
        planning_s: duration of the computation in s.
        seconds: duration from its begin until it was in place, in s.
        drained: names of the drained elements that it leads around, or `none`.
    """

    time_s: float
    failed: str
    rules: int
    cut_off_pairs: int
    planning_s: float
    seconds: float
    drained: str = "none"


@dataclass(frozen=True)
class FaultRecord:
    """Faults that were injected during a run, and the plans of the controller for them.

    Attributes:
        done: the faults, restorations included.
        replanned: the controller's plans.
    """

    done: tuple[InjectedFault, ...]
    replanned: tuple[ReplanRecord, ...]

    @property
    def events(self) -> list[tuple[float, str]]:
        """Seconds since the start of the traffic, and description, of faults and plans in order of time."""
        events = [(entry.time_s, entry.fault) for entry in self.done]
        events += [(entry.time_s, replan_text(entry.failed, entry.drained)) for entry in self.replanned]
        return sorted(events)


def schedule_text(faults: Sequence[Fault], asked: str | None = None, seed: int = 1) -> str:
    """Returns the text of a fault schedule, which can be carried out again.

    Args:
        faults: the faults.
        asked: random failures from which they were drawn, as asked for; None if they were not.
        seed: seed from which they were drawn.
    """
    drawn = [f"# drawn from {asked} with seed {seed}"] if asked is not None else []
    return "".join(f"{line}\n" for line in [*drawn, *(fault.line for fault in faults)])


def replan_text(failed: str, drained: str = "none") -> str:
    """Returns the description of a plan that is in place.

    Args:
        failed: names of the failed elements that it goes around, or `none`.
        drained: names of the drained elements that it goes around, or `none`.
    """
    places = [f"without {failed}"] if failed != "none" else []
    places += [f"around {drained} (drained)"] if drained != "none" else []
    if not places:
        return "the controller's first plan is back"
    return f"the controller's plan {' '.join(places)} is in place"

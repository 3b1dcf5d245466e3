"""Faults of a run and the controller's plans for them, key by key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.codec import omitted
from experiments.results.parts.over_seeds import Sum
from topology.faults import Fault


@dataclass(frozen=True)
class InjectedFault:
    """Injected failure or restoration.

    Attributes:
        time_s: seconds since the start of traffic.
        fault: the line of a fault schedule, such as `fail link:s1-s7`.
    """

    time_s: float
    fault: str


@dataclass(frozen=True)
class ReplanRecord:
    """Plan of the controller for a changed fabric.

    Attributes:
        time_s: time at which the plan was installed, in s since the start of traffic.
        failed: names of the failed links and switches, or `none`.
        rules: number of rules that changed.
        cut_off_pairs: ordered pairs of routers without any path.
        planning_s: duration of the computation in s.
        seconds: duration from the start of computation until the plan was installed, in s.
        drained: names of the drained links and switches that it avoids, or `none`.
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
    """Faults injected during a run, and the controller's plans for them.

    Attributes:
        done: the faults, including restorations.
        replanned: the controller's plans.
        lost_packets: upper bound on the packets of the whole run that were lost to these failures: packets of
            pairs of hosts that were cut off and, until the controller had planned around a failed component,
            of pairs with a path over it. Estimated from the losses of each pair and the packets that its
            source sent in that time. They count in `loss`, but not in `fidelity.lost_outside_queues`; absent
            if the losses are not known.
    """

    done: tuple[InjectedFault, ...]
    replanned: tuple[ReplanRecord, ...]
    lost_packets: Sum | None = omitted()

    @property
    def events(self) -> list[tuple[float, str]]:
        """(seconds since the start of traffic, description) of faults and plans, by time."""
        events = [(entry.time_s, entry.fault) for entry in self.done]
        events += [(entry.time_s, replan_text(entry.failed, entry.drained)) for entry in self.replanned]
        return sorted(events)

    @property
    def losses(self) -> str:
        """A sentence on the packets lost to the failures; empty if none were lost or this is unknown."""
        noun = "packet was" if self.lost_packets == 1 else "packets were"
        return f"{self.lost_packets} {noun} lost to the scheduled failures" if self.lost_packets else ""


def schedule_text(faults: Sequence[Fault], asked: str | None = None, seed: int = 1) -> str:
    """Returns the text of a fault schedule, which can be replayed.

    Args:
        faults: the faults.
        asked: requested random failures from which the faults were drawn; None if they were not drawn.
        seed: seed with which the faults were drawn.
    """
    drawn = [f"# drawn from {asked} with seed {seed}"] if asked is not None else []
    return "".join(f"{line}\n" for line in [*drawn, *(fault.line for fault in faults)])


def replan_text(failed: str, drained: str = "none") -> str:
    """Returns the description of an installed plan.

    Args:
        failed: names of the failed links and switches that the plan avoids, or `none`.
        drained: names of the drained links and switches that the plan avoids, or `none`.
    """
    places = [f"without {failed}"] if failed != "none" else []
    places += [f"around {drained} (drained)"] if drained != "none" else []
    if not places:
        return "the controller's first plan is back"
    return f"the controller's plan {' '.join(places)} is in place"

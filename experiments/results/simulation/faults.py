"""Faults of a simulation and the controller's plans for them, key by key, named as those of runs."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.results.parts.faults import replan_text


@dataclass(frozen=True)
class SimulatedFault:
    """Fault that took effect, or was restored.

    Attributes:
        cycle: cycle at whose begin it took effect.
        fault: the fault in the words of a fault schedule, as `fail link:s1-s7`.
        lost_packets: packets that were lost between it and the next fault, because their link broke, or
            because a switch had no way on for them; those of warm-up and drain are among them, and those that
            full queues dropped are not. What is lost in failures of one cycle counts for the last of them.
        last_loss_cycle: cycle of the last of these losses; null without any.
    """

    cycle: int
    fault: str
    lost_packets: int
    last_loss_cycle: int | None


@dataclass(frozen=True)
class SimulatedReplan:
    """Plan of the controller for a changed fabric.

    Attributes:
        cycle: cycle from which the switches had the plan.
        failed: names of the failed elements, or `none`.
        rules: number of rules and groups that changed.
        cut_off_pairs: ordered pairs of live routers without any path.
        drained: names of the drained elements that it leads around, or `none`.
    """

    cycle: int
    failed: str
    rules: int
    cut_off_pairs: int
    drained: str = "none"

    @property
    def text(self) -> str:
        """The plan in words."""
        return replan_text(self.failed, self.drained)


@dataclass(frozen=True)
class SimulatedFaultRecord:
    """Faults that took effect during a simulation, and the plans of the controller for them.

    Attributes:
        done: the faults, restorations included.
        replanned: the controller's plans.
    """

    done: tuple[SimulatedFault, ...]
    replanned: tuple[SimulatedReplan, ...]

    @property
    def events(self) -> list[tuple[float, str]]:
        """Cycle, and description, of faults and plans in order of time."""
        events = [(float(entry.cycle), entry.fault) for entry in self.done]
        events += [(float(entry.cycle), entry.text) for entry in self.replanned]
        return sorted(events, key=lambda event: event[0])

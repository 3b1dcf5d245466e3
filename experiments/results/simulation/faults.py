"""Faults of a simulation and the controller's plans for them; keys have the same names as in runs."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.results.parts.faults import replan_text


@dataclass(frozen=True)
class SimulatedFault:
    """Failure or restoration that took effect.

    Attributes:
        cycle: cycle at whose start it took effect.
        fault: the line of a fault schedule, such as `fail link:s1-s7`.
        lost_packets: packets lost between this fault and the next one, also in warm-up and drain, because
            their link failed or a switch had no rule for them. Packets dropped by full queues do not count.
            Losses of several faults in one cycle count for the last of them.
        last_loss_cycle: cycle of the last of these losses; null without losses.
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
        failed: names of the failed links and switches, or `none`.
        rules: number of rules and groups that changed.
        cut_off_pairs: ordered pairs of working routers without any path.
        drained: names of the drained links and switches that it avoids, or `none`.
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
    """Faults of a simulation, and the controller's plans for them.

    Attributes:
        done: the faults, including restorations.
        replanned: the controller's plans.
    """

    done: tuple[SimulatedFault, ...]
    replanned: tuple[SimulatedReplan, ...]

    @property
    def events(self) -> list[tuple[float, str]]:
        """(cycle, description) of faults and plans, by time."""
        events = [(float(entry.cycle), entry.fault) for entry in self.done]
        events += [(float(entry.cycle), entry.text) for entry in self.replanned]
        return sorted(events, key=lambda event: event[0])

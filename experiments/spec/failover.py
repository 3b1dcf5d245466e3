"""Specification of a failover demonstration."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.spec.settings import TrafficSettings
from topology.faults import CONTROLLER, Element, Fault


@dataclass(frozen=True)
class FailoverOptions:
    """Specification of a failover demonstration.

    Attributes:
        elements: elements that fail; empty for the link that most minimal paths cross.
        kill_controller: whether the controller is killed just before, and starts again while the elements
            are still broken.
        fail_s, restore_s, end_s: times of failure, repair and end, in seconds since the probes start.
    """

    elements: tuple[Element, ...] = ()
    kill_controller: bool = False
    fail_s: float = 2.0
    restore_s: float = 5.0
    end_s: float = 9.0

    def settings(self) -> TrafficSettings:
        """Returns the specification as results name it."""
        return TrafficSettings(**{**vars(self), "elements": tuple(element.name for element in self.elements)})

    def schedule(self, elements: tuple[Element, ...]) -> tuple[Fault, ...]:
        """Returns the faults in order of time."""
        faults = [Fault(self.fail_s, element) for element in elements]
        faults += [Fault(self.restore_s, element, restores=True) for element in elements]
        if self.kill_controller:
            # It is gone before anything else, so that it cannot help, and back before anything else: a switch
            # that returns without rules needs a controller that fills it.
            gone_s = self.fail_s - 0.5 if elements else self.fail_s
            back_s = self.fail_s + 0.8 if elements else self.restore_s
            faults += [Fault(gone_s, CONTROLLER), Fault(back_s, CONTROLLER, restores=True)]
        return tuple(sorted(faults, key=lambda fault: fault.time_s))

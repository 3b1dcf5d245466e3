"""Specification of a failover demonstration, and of a series of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from experiments.spec.settings import TrafficSettings
from topology.faults import CONTROLLER, Element, ElementKind, Fault

# Of a series of failing links, which switches repair within milliseconds and the controller within 0.2 s.
_LINK_FAIL_S, _LINK_RESTORE_S, _LINK_END_S = 1.0, 3.0, 5.0
# A new controller has taken over before anything is restored. It waits for a switch that its neighbours see
# up, and then plans without it.
_TAKEN_OVER_S, _HUNG_S, _AFTER_S = 8.0, 4.0, 4.0


@dataclass(frozen=True)
class FailoverOptions:
    """Specification of a failover demonstration.

    Attributes:
        elements: elements that fail; empty for the link that most minimal paths cross.
        kill_controller: whether the controller is killed just before, and starts again while the elements
            are still broken.
        fail_s, restore_s, end_s: times of failure, repair and end, in seconds since the probes start.
        seed: seed of the random generator that drew the elements.
    """

    elements: tuple[Element, ...] = ()
    kill_controller: bool = False
    fail_s: float = 2.0
    restore_s: float = 5.0
    end_s: float = 9.0
    seed: int = 1

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


@dataclass(frozen=True)
class FailoverSeriesOptions:
    """Specification of a series of failovers on one fabric.

    Attributes:
        fail: elements that fail, as asked for; None for the link that most minimal paths cross.
        repetitions: specification of each failover, with a seed of its own.
    """

    fail: str | None
    repetitions: tuple[FailoverOptions, ...]

    def settings(self) -> TrafficSettings:
        """Returns the specification as results name it; its elements and its seed are those of the first."""
        return replace(
            self.repetitions[0].settings(), elements=None, fail=self.fail, repeat=len(self.repetitions)
        )


def with_time_for_repair(options: FailoverOptions, *, repeated: bool = False) -> FailoverOptions:
    """Returns the options with times in which everything is repaired that can be.

    Args:
        options: the options, with the times of a single link's failure.
        repeated: whether the failover is one of a series, in which a link's failure takes less time.
    """
    kinds = {element.kind for element in options.elements}
    if options.kill_controller and kinds:
        restore_s = _TAKEN_OVER_S + (_HUNG_S if ElementKind.HANG in kinds else 0.0)
        return replace(options, restore_s=restore_s, end_s=restore_s + _AFTER_S)
    if repeated and not options.kill_controller and kinds <= {ElementKind.LINK}:
        return replace(options, fail_s=_LINK_FAIL_S, restore_s=_LINK_RESTORE_S, end_s=_LINK_END_S)
    return options

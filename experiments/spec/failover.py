"""Specification of a failover demonstration, and of a series of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from experiments.spec.settings import TrafficSettings
from topology.faults import CONTROLLER, Component, ComponentKind, Fault

# Times of failure, restoration and end, in s, of each failover in a series of link failures. They are short,
# as switches repair such failures within milliseconds, and the controller within 0.2 s.
_LINK_FAIL_S, _LINK_RESTORE_S, _LINK_END_S = 1.0, 3.0, 5.0
_LOOKING_S = 3.0  # by which a failure on the live page lasts longer
# _TAKEN_OVER_S: time in s that a new controller needs to take over before anything is restored. _HUNG_S:
# time that it needs in addition if a switch hangs. It first waits for that switch, as the switch's
# neighbours still report the links to it up. _AFTER_S: time from the restoration to the end.
_TAKEN_OVER_S, _HUNG_S, _AFTER_S = 8.0, 4.0, 4.0


@dataclass(frozen=True)
class FailoverOptions:
    """Specification of a failover demonstration.

    Attributes:
        elements: links and switches that fail; empty for the link on the largest number of minimal paths.
        kill_controller: whether the controller is killed just before `elements` fail, and restarts while they
            are still down.
        fail_s, restore_s, end_s: times of failure, repair and end, in seconds since the probes start.
        seed: seed with which `elements` were drawn.
    """

    elements: tuple[Component, ...] = ()
    kill_controller: bool = False
    fail_s: float = 2.0
    restore_s: float = 5.0
    end_s: float = 9.0
    seed: int = 1

    def settings(self) -> TrafficSettings:
        """Returns the demonstration's settings in the form that results record."""
        return TrafficSettings(
            **{**vars(self), "elements": tuple(component.name for component in self.elements)}
        )

    def schedule(self, elements: tuple[Component, ...]) -> tuple[Fault, ...]:
        """Returns the failures and restorations of links, switches and the controller, in order of time.

        Args:
            elements: the links and switches that fail.
        """
        faults = [Fault(self.fail_s, component) for component in elements]
        faults += [Fault(self.restore_s, component, restores=True) for component in elements]
        if self.kill_controller:
            # The controller dies first, so that it cannot help with the failure, and restarts before the
            # restoration: a switch that returns without rules needs a controller to install them.
            killed_s = self.fail_s - 0.5 if elements else self.fail_s
            restarted_s = self.fail_s + 0.8 if elements else self.restore_s
            faults += [Fault(killed_s, CONTROLLER), Fault(restarted_s, CONTROLLER, restores=True)]
        return tuple(sorted(faults, key=lambda fault: fault.time_s))


@dataclass(frozen=True)
class FailoverSeriesOptions:
    """Specification of a series of failovers on one fabric.

    Attributes:
        fail: requested failures; None for the link on the largest number of minimal paths.
        repetitions: specification of each failover, each with its own seed.
    """

    fail: str | None
    repetitions: tuple[FailoverOptions, ...]

    def settings(self) -> TrafficSettings:
        """Returns the series' settings in the form that results record, with the first failover's seed."""
        return replace(
            self.repetitions[0].settings(), elements=None, fail=self.fail, repeat=len(self.repetitions)
        )


def with_time_to_look(options: FailoverSeriesOptions) -> FailoverSeriesOptions:
    """Returns the options with failures that last long enough to be looked at on the live page."""
    later = (
        replace(one, restore_s=one.restore_s + _LOOKING_S, end_s=one.end_s + _LOOKING_S)
        for one in options.repetitions
    )
    return replace(options, repetitions=tuple(later))


def with_time_for_repair(options: FailoverOptions, *, repeated: bool = False) -> FailoverOptions:
    """Returns the options with enough time to repair everything that can be repaired.

    Args:
        options: the options, with times for the failure of a single link.
        repeated: whether the failover is one of a series, where link failures get less time.
    """
    kinds = {component.kind for component in options.elements}
    if options.kill_controller and kinds:
        restore_s = _TAKEN_OVER_S + (_HUNG_S if ComponentKind.HANG in kinds else 0.0)
        return replace(options, restore_s=restore_s, end_s=restore_s + _AFTER_S)
    if repeated and not options.kill_controller and kinds <= {ComponentKind.LINK}:
        return replace(options, fail_s=_LINK_FAIL_S, restore_s=_LINK_RESTORE_S, end_s=_LINK_END_S)
    return options

"""Reports of the links and switches that are unusable now, whether the plan in place avoids them or not."""

from __future__ import annotations

from controller.fabric_state import FabricState
from controller.reports import Unusable, report

# Between two reports. Links change at any rate; only the first change of a settled state is reported at once.
_EVERY_S = 0.1


class StateReports:
    """Reports one fabric's state whenever it changes, at most some twenty times a second."""

    def __init__(self, state: FabricState) -> None:
        """Begins with a state without failures, which needs no report."""
        self._state = state
        self._changes = state.changes
        self._settled = True
        self._reported_s = 0.0

    def step(self, now_s: float, *, settled: bool) -> None:
        """Reports the state if it has changed since the last report.

        Args:
            now_s: the time.
            settled: whether the switches have the plan for this state, and no other plan is wanted.
        """
        if settled == self._settled and self._state.changes == self._changes:
            return
        unsettled = self._settled and not settled
        if not unsettled and now_s < self._reported_s + _EVERY_S:
            return
        self._changes, self._settled, self._reported_s = self._state.changes, settled, now_s
        report(Unusable(self._state.failure().name, self._state.held_until_s(), settled))

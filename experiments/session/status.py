"""Status of a fabric's controller, as a session tells it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ControllerStatus:
    """The state of the controller.

    Attributes:
        running: whether its process runs.
        pid: its process; None if it does not run.
        killed: whether the session killed it; if neither this nor `running`, it ended by itself.
        planned_failure: name of the failure that its present plan is for; `none` for the whole fabric.
        planned_drain: name of the elements that its present plan drains; `none` for none.
    """

    running: bool
    pid: int | None
    killed: bool
    planned_failure: str
    planned_drain: str = "none"

"""Events of experiments, which `progress` takes: the base of all, and those that the command line adds."""

from __future__ import annotations

from experiments.events.base import Event, Notify, Ongoing
from experiments.events.outcomes import (
    CommandFailed,
    FiguresDrawn,
    PointsInvalid,
    PointsMeasured,
    PromptOpened,
    ResultNegative,
)
from experiments.events.pace import ONGOING_EVERY_S, EveryEvent, Pace

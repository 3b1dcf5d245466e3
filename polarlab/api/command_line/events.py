"""Events that `progress` receives: their base class, pacing, and the events that the command line adds."""

from __future__ import annotations

from experiments.events.base import Event, OnEvent, Ongoing
from experiments.events.marks import PointsMeasured
from experiments.events.notices import Notice
from experiments.events.pace import ONGOING_EVERY_S, Pace, Unthrottled

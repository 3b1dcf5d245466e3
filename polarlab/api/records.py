"""Records as data and as text: plain JSON, and values for people."""

from __future__ import annotations

from experiments.codec import plain
from experiments.results.failover import FailoverSeries, FailoverSummary
from experiments.results.model import Summary
from experiments.results.parts.flows import class_rows
from experiments.results.text import readable

__all__ = ["FailoverSeries", "FailoverSummary", "Summary", "class_rows", "plain", "readable"]

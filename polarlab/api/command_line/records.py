"""Results and records as JSON and as readable text, and the metrics that tables show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.codec import plain
from experiments.comparison.model import compared_columns
from experiments.results.metrics import In, metrics
from experiments.results.parts.flows import class_rows
from experiments.results.text import readable, with_half

if TYPE_CHECKING:  # for annotations only: every command that prints a table loads this module
    from experiments.results.failover import FailoverSeries, FailoverSummary
    from experiments.results.figures import LookOptions
    from experiments.results.kinds import Results
    from experiments.results.model import Summary

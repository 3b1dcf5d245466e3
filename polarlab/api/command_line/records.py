"""Records as data and as text: plain JSON, values for people, and the metrics that tables show."""

from __future__ import annotations

from experiments.codec import plain
from experiments.comparison.model import compared_columns
from experiments.results.metrics import In, metrics
from experiments.results.text import readable, with_half

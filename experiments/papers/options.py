"""Names of `polarlab paper` for the command line, importable without the code that computes."""

from __future__ import annotations

LIST, ALL = "list", "all"  # given instead of a paper, and instead of an item
NONE = "none"  # given instead of labels of curves: simulate no curve
OTHER_PRICES = "other prices than the paper's"  # why a claim is not compared

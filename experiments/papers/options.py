"""Names of `polarlab paper` for the command line, importable without the code that computes."""

from __future__ import annotations

LIST, ALL = "list", "all"  # words that replace the name of a paper, and of an item
NONE = "none"  # replaces labels of curves: simulate no curve
OTHER_PRICES = "other prices than the paper's"  # note on claims that are not compared

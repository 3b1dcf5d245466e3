"""Words of reproductions that the command line knows before anything is loaded to compute."""

from __future__ import annotations

LIST, ALL = "list", "all"  # in the place of a paper, and of an item
NONE = "none"  # in the place of labels of curves
OTHER_PRICES = "other prices than the paper's"  # the reason why a claim is not compared

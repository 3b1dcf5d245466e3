"""Words and parameters of reproductions of papers."""

from __future__ import annotations

from experiments.papers.options import LIST, OTHER_PRICES

__all__ = ["LIST", "OTHER_PRICES"]

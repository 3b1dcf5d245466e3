"""Words and parameters of reproductions of papers."""

from __future__ import annotations

from experiments.papers.options import LIST, NONE, SEEDS

__all__ = ["LIST", "NONE", "SEEDS"]

"""Numbers of groups of balanced dragonflies by trunking (Table I)."""

from __future__ import annotations

from experiments.papers.model import ItemResult, Row, Scale
from topology.analysis.balance import balanced_alpha, groups_at

_ROUTERS = 4  # of a group


def dimensions(_scale: Scale) -> ItemResult:
    """Returns numbers of groups by trunking: for alpha = 1, for balance and for alpha = 1/2 (Table I)."""
    values: dict[str, float] = {}
    rows: list[Row] = []
    for trunking in range(1, _ROUTERS + 1):
        balanced = balanced_alpha(_ROUTERS, trunking)
        groups = {
            name: groups_at(alpha, _ROUTERS, trunking)
            for name, alpha in {"limit alpha=1": 1.0, "balanced": balanced, "limit alpha=1/2": 0.5}.items()
        }
        values |= {f"{name} t={trunking}": number for name, number in groups.items()}
        rows.append({"trunking": trunking, "balanced_alpha": balanced, **groups})
    return ItemResult(values, rows)

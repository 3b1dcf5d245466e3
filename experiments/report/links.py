"""Links with the highest loads as a table of a report."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.report.model import Table, table_of
from experiments.results.link_loads import LinkLoadRow

_MOST = 10


def worst_links(rows: Sequence[LinkLoadRow]) -> Table | None:
    """Returns the links with the highest loads; None where no loads are known.

    Args:
        rows: load of each directed link.
    """
    worst = sorted(rows, key=lambda row: (-row.load, row.link, row.port))[:_MOST]
    return table_of(
        [
            {
                "link": row.link,
                "port": str(row.port),
                "load": f"{row.load:.4f}",
                "dropped_packets": str(row.dropped_packets),
            }
            for row in worst
        ],
        ("link",),
    )

"""Topologies whose routers form levels, drawn as rows; only level 0 has hosts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from topology.layout import Layout, in_rows
from topology.shortest_paths import SearchedTopology

_GOLDEN = 1.9  # ratio of a drawing's width to its height


class LevelledTopology(SearchedTopology):
    """A topology whose routers form levels; only level 0 has hosts.

    Attributes:
        level_of: int64 array, N: the level of each router, from 0.
        level_names: a plural noun phrase for each level, from 0.
    """

    level_of: npt.NDArray[np.int64]
    level_names: tuple[str, ...]

    def host_counts(self, hosts_per_router: int) -> npt.NDArray[np.int64]:
        """Returns the number of hosts attached to each router.

        Args:
            hosts_per_router: p, the number of hosts at each router of level 0; at least 1.

        Returns:
            int64 array, N: p at level 0, else 0.
        """
        return np.where(self.level_of == 0, hosts_per_router, 0)

    def layout(self) -> Layout:
        """Returns a layout of the levels as rows, level 0 at the bottom.

        Returns:
            A layout whose kinds are the levels.
        """
        return rows_by_level(self.level_of, self.level_names)


def rows_by_level(level_of: npt.NDArray[np.int64], names: tuple[str, ...]) -> Layout:
    """Returns a layout of levels as rows, level 0 at the bottom, each spread over the whole width.

    Args:
        level_of: int64 array, N: the level of each router, from 0.
        names: a plural noun phrase for each level.

    Returns:
        A layout whose kinds are the levels, the highest one first.
    """
    levels = len(names)
    rows = [np.flatnonzero(level_of == level).tolist() for level in reversed(range(levels))]
    width = float(max(len(row) for row in rows))
    apart = width / _GOLDEN / max(levels - 1, 1)
    positions = in_rows(rows, len(level_of), width, apart)
    return Layout(positions, levels - 1 - level_of, names[::-1], rows=True)

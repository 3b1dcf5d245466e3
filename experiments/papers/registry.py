"""Registry of the figures and tables of papers that can be computed."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.papers.beyond.items import ITEMS as OWN
from experiments.papers.claims import BEYOND, PAPERS
from experiments.papers.dragonfly.items import ITEMS as DRAGONFLY
from experiments.papers.model import Item
from experiments.papers.options import ALL
from experiments.papers.performance.model import AnyItem, PlacedItem, SimulatedItem
from experiments.papers.polarfly.items import ITEMS as POLARFLY
from experiments.papers.polarstar.items import ITEMS as POLARSTAR
from experiments.papers.slimfly.items import ITEMS as SLIMFLY
from topology.errors import UsageError
from topology.parameters import hint, spelled

ITEMS: Mapping[str, Mapping[str, AnyItem]] = {
    "polarfly": POLARFLY,
    "polarstar": POLARSTAR,
    "slimfly": SLIMFLY,
    "dragonfly": DRAGONFLY,
    BEYOND: OWN,
}


_PRICED = "fig11 at other prices of routers and cables, which are not known here; use fig11 --prices FILE"
_DRAWN = "a drawing; see polarlab topology polarfly --q 7 --figure FILE"
# Paper -> item that is not computed -> reason.
LEFT_OUT: Mapping[str, Mapping[str, str]] = {
    "polarfly": {
        "table1": "describes features in words, without numbers",
        "fig3": "a drawing of lines and planes in Euclidean space, without numbers",
        **dict.fromkeys(("fig4", "fig5", "fig6", "fig13"), _DRAWN),
    },
    "slimfly": dict.fromkeys(("fig12", "fig13"), _PRICED),
    "dragonfly": {
        "table4": "not implemented yet; fig12 has the sizes",
    },
}


def check_paper(paper: str) -> str:
    """Checks and returns the name of a paper.

    Args:
        paper: the name.

    Raises:
        UsageError: the name is unknown; the message lists all papers.
    """
    paper = spelled(paper, PAPERS)
    if paper not in PAPERS:
        raise UsageError(f"paper must be one of {', '.join(PAPERS)}, got {paper!r}{hint(paper, PAPERS)}")
    return paper


def item_of(paper: str, name: str) -> AnyItem:
    """Returns a figure, table or section of a paper.

    Args:
        paper: the paper.
        name: the figure, table or section, such as `fig12`.

    Raises:
        UsageError: the paper or the item is unknown, or the item is not computed; the message lists the
            computed items.
    """
    items = ITEMS[check_paper(paper)]
    if name in [*items]:  # a list, so that unhashable names reach the error below
        return items[name]
    listed = ", ".join([*items, ALL])
    known = LEFT_OUT.get(paper, {}).get(str(name))
    reason = f"; {name} is not computed: {known}" if known else hint(name, items)
    raise UsageError(f"item of {paper} must be one of {listed}, got {name!r}{reason}")


def sends_real_packets(item: AnyItem) -> bool:
    """Returns whether a figure or table is computed from real packets, which needs root.

    Args:
        item: the item.
    """
    return isinstance(item, PlacedItem) and item.real


def is_priced(item: AnyItem) -> bool:
    """Returns whether the numbers of a figure or table depend on prices.

    Args:
        item: the item.
    """
    return isinstance(item, Item) and item.priced


def is_by_chance(item: AnyItem) -> bool:
    """Returns whether the numbers of a figure or table depend on chance, so that users may choose seeds.

    Args:
        item: the item.
    """
    return isinstance(item, SimulatedItem) or item.by_chance


def items_of_all(paper: str, *, real: bool) -> list[str]:
    """Returns the names of a paper's figures, tables and sections that `polarlab paper PAPER all` computes.

    Args:
        paper: the paper, one of PAPERS.
        real: whether to include figures that send real packets.
    """
    return [name for name, one in ITEMS[paper].items() if real or not sends_real_packets(one)]

"""Registry of the items of papers that can be computed: one line for each."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.papers.beyond.items import ITEMS as OWN
from experiments.papers.claims import BEYOND, PAPERS, claims_of
from experiments.papers.dragonfly.items import ITEMS as DRAGONFLY
from experiments.papers.model import Item
from experiments.papers.options import ALL
from experiments.papers.performance.model import AnyItem, PlacedItem, SimulatedItem
from experiments.papers.polarfly.items import ITEMS as POLARFLY
from experiments.papers.polarstar.items import ITEMS as POLARSTAR
from experiments.papers.slimfly.items import ITEMS as SLIMFLY
from topology.errors import UsageError
from topology.parameters import hint

ITEMS: Mapping[str, Mapping[str, AnyItem]] = {
    "polarfly": POLARFLY,
    "polarstar": POLARSTAR,
    "slimfly": SLIMFLY,
    "dragonfly": DRAGONFLY,
    BEYOND: OWN,
}


# Figures that are another one with other prices, which are not known.
_BY_PRICES = {("slimfly", "fig12"): "fig11", ("slimfly", "fig13"): "fig11"}


def check_paper(paper: str) -> str:
    """Returns the name of a paper.

    Args:
        paper: the name.

    Raises:
        UsageError: it is unknown; the text lists all papers.
    """
    if paper not in PAPERS:
        raise UsageError(f"paper must be one of {', '.join(PAPERS)}, got {paper!r}{hint(paper, PAPERS)}")
    return paper


def item_of(paper: str, name: str) -> AnyItem:
    """Returns an item of a paper.

    Args:
        paper: the paper.
        name: the figure, table or section, as `fig12`.

    Raises:
        UsageError: the paper or the item is unknown, or the item is not computed yet; the text lists those
            that are computed.
    """
    items = ITEMS[check_paper(paper)]
    if name in [*items]:  # a list: names of any type are refused below
        return items[name]
    listed = ", ".join([*items, ALL])
    later = name in [claim.item for claim in claims_of(paper)]
    reason = f"; {name} is not computed (docs/papers.md)" if later else hint(name, items)
    if like := _BY_PRICES.get((paper, str(name))):
        reason = f"; it is {like} with the prices of other routers and cables: {like} --prices FILE"
    raise UsageError(f"item of {paper} must be one of {listed}, got {name!r}{reason}")


def sends_real_packets(item: AnyItem) -> bool:
    """Returns whether an item sends real packets, for which the process must be root.

    Args:
        item: the item.
    """
    return isinstance(item, PlacedItem) and item.real


def is_priced(item: AnyItem) -> bool:
    """Returns whether the numbers of an item follow from prices.

    Args:
        item: the item.
    """
    return isinstance(item, Item) and item.priced


def is_by_chance(item: AnyItem) -> bool:
    """Returns whether the numbers of an item are a matter of chance, so that it has seeds.

    Args:
        item: the item.
    """
    return isinstance(item, SimulatedItem) or item.by_chance


def items_of_all(paper: str, *, real: bool) -> list[str]:
    """Returns the names of the items that `all` computes.

    Args:
        paper: the paper, one of PAPERS.
        real: whether those of real packets can be computed.
    """
    return [name for name, one in ITEMS[paper].items() if real or not sends_real_packets(one)]

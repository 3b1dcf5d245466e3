"""Graphs: members of families and networkx graphs, their numbers, files and drawings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.results.frames import Rows
from polarlab.api.analysis.costs import member_costs, prices_from, rack_numbers
from polarlab.api.arguments import checked_topology, keywords_in_errors
from polarlab.api.listings import Listing, Named, row_with_parameters
from topology.addressing import check_hosts, switch_name
from topology.analysis.balance import balance_of
from topology.base import Topology
from topology.costs.prices import Prices
from topology.errors import MachineError, UsageError
from topology.families.family import GROUPS, SERIES, Family, Member
from topology.families.low_diameter.polarstar_designs import Design, designs_of_radix
from topology.families.nearest import ENDPOINTS, RADIX, nearest_member
from topology.parameters import Parameter, Value, hint
from topology.registry import FAMILIES, make_topology
from topology.shortest_paths import host_pairs_by_distance

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def topology(name: str, /, **params: Value) -> Topology:
    """Returns a graph of a family.

    Args:
        name: the family, one of `families()`.
        params: its parameters by the names of their options; Python's `from_` stands for `from`.

    Returns:
        The graph. `to_networkx()` converts it to a networkx graph, whose nodes are the routers 0 .. N - 1 in
        ascending order; router 0 is switch `s1`, and its first host is `h1_1`.

    Raises:
        UsageError: the family does not exist, or a parameter is missing or outside its domain.

    Examples:
        >>> graph = topology("polarfly", q=7)
        >>> graph
        <polarfly q=7: 57 routers, 224 links>
        >>> graph.diameter, graph.network_radix
        (2, 8)
        >>> import networkx as nx
        >>> nx.diameter(graph.to_networkx())
        2
    """
    with keywords_in_errors(name):
        return make_topology(name, {key.rstrip("_"): value for key, value in params.items()})


@dataclass(frozen=True, repr=False)
class FamilyEntry(Named):
    """A family of topologies.

    Attributes:
        name: its name.
        parameters: its parameters.
        summary: its members, in a phrase.
        example: command-line arguments of a member.
        group: its group, such as `low-diameter`.
    """

    name: str
    parameters: tuple[Parameter, ...]
    summary: str
    example: str
    group: str


def families() -> Listing[FamilyEntry]:
    """Returns the families of topologies by name, ordered by group.

    Examples:
        >>> list(families())[:3]
        ['polarfly', 'polarstar', 'slimfly']
        >>> families()["slimfly"].summary
        'McKay-Miller-Siran graph: 2 q^2 routers, diameter 2'
    """
    return Listing(
        tuple(
            FamilyEntry(name, family.parameters, family.summary, family.example, family.group)
            for name, family in _by_groups().items()
        ),
        row_with_parameters,
    )


def _by_groups() -> dict[str, Family]:
    """Returns name -> family, in the order of groups; includes families of plug-ins."""
    return dict(sorted(FAMILIES.items(), key=lambda item: GROUPS.index(item[1].group)))


def designs(radix: int, supernode: str | None = None) -> list[Design]:
    """Returns the PolarStars with a given network radix, the largest first.

    Args:
        radix: network radix q + 1 + d', 3 or more.
        supernode: kind of the supernodes; None for all kinds.

    Raises:
        ParameterError: the kind is unknown, or no PolarStar has that radix.

    Examples:
        >>> designs(15)[0], designs(15)[0].routers
        (Design(q=11, supernode='iq', degree=3), 1064)
    """
    return designs_of_radix(radix, supernode)


@dataclass(frozen=True)
class GraphNumbers:
    """Numbers of a graph, with the keys of `polarlab topology --json`.

    Attributes:
        name, params: family and parameters.
        routers, links: their numbers.
        degrees: degree (as text) -> number of routers of that degree.
        diameter: largest distance between two routers, in links.
        average_path_length: mean distance between two different routers, in links.
        moore_efficiency: number of routers divided by the Moore bound of degree and diameter.
        endpoints: number of hosts.
        next_hop_rules: largest number of next-hop rules in a router, by kind: `with_masks`, `one_per_router`.
        remarks: notes on this member, for example that a random graph was redrawn until it was connected.
        between_hosts: `diameter`, `average_path_length` between routers with hosts; None if all have hosts.
        balance: `hosts`, the largest number per router at which full uniform traffic overloads no class of
            links, and `balanced`, whether all classes allow the same number; None if unknown.
        saturation_hosts: class of links -> hosts per router at which it saturates; None if unknown.
        link_ratios: of a dragonfly, `alpha`, the number of global links per local link, `balanced_alpha` and
            `balanced_groups`; with three levels, `alpha` and `beta`; None for other families.
        classes: classes of routers under the automorphisms of the graph, the largest first: `count`, and for
            each its size in `sizes` and its lowest switch in `representatives`; None unless requested.
        racks: racks and the links between them (docs/how-to/costs.md); None unless requested.

    Examples:
        >>> found = numbers(topology("polarfly", q=3), hosts=2)
        >>> found.routers, found.endpoints, found.diameter
        (13, 26, 2)
    """

    name: str
    params: Mapping[str, Value]
    routers: int
    links: int
    degrees: Mapping[str, int]
    diameter: int
    average_path_length: float
    moore_efficiency: float
    endpoints: int
    next_hop_rules: Mapping[str, int]
    remarks: list[str]
    between_hosts: Mapping[str, float] | None = None
    balance: Mapping[str, float] | None = None
    saturation_hosts: Mapping[str, float] | None = None
    link_ratios: Mapping[str, float] | None = None
    classes: Mapping[str, Any] | None = None
    racks: Mapping[str, Any] | None = None


def numbers(topology: Topology, hosts: int = 1, classes: bool = False, racks: bool = False) -> GraphNumbers:
    """Returns the sizes, degrees and distances of a graph.

    Args:
        topology: the graph.
        hosts: hosts attached to each router that has any, 1 to 254; for a networkx graph, a factor applied
            to its nodes' own numbers of hosts.
        classes: whether to search for the classes of routers under automorphisms, which needs igraph.
        racks: whether to count the links between racks.

    Raises:
        ParameterError: `topology` is not a graph of PolarLab, `hosts` is outside its domain, or the graph has
            too many routers for a search for classes.
        MachineError: classes are requested, and igraph is not installed.

    Examples:
        >>> found = numbers(topology("polarfly", q=7))
        >>> found.degrees, found.average_path_length
        ({'7': 8, '8': 49}, 1.859649)
        >>> numbers(topology("polarfly", q=7), classes=True).classes["sizes"]
        [28, 21, 8]
    """
    topology = checked_topology(topology)
    check_hosts(hosts)
    degrees, counts = np.unique(topology.degrees, return_counts=True)
    balance = balance_of(topology.link_classes())
    return GraphNumbers(
        topology.name,
        dict(topology.params),
        topology.routers,
        topology.links,
        {str(degree): int(count) for degree, count in zip(degrees, counts, strict=True)},
        topology.diameter,
        round(topology.average_path_length, 6),
        round(topology.moore_efficiency, 6),
        topology.endpoints(hosts),
        {"with_masks": topology.next_hop_rules, "one_per_router": topology.routers - 1},
        list(topology.remarks),
        _between_hosts(topology),
        {"hosts": balance.hosts, "balanced": balance.balanced} if balance else None,
        {name: round(limit, 6) for name, limit in balance.limits.items()} if balance else None,
        {name: round(ratio, 6) for name, ratio in topology.link_ratios().items()} or None,
        _classes(topology) if classes else None,
        rack_numbers(topology) if racks else None,
    )


def _classes(topology: Topology) -> Mapping[str, Any]:
    """Returns the classes of routers under the graph's automorphisms, as GraphNumbers describes them."""
    from topology.analysis.symmetry import router_classes

    try:
        found = router_classes(topology)
    except ImportError:
        from experiments.doctor.features import igraph_installation

        raise MachineError(f"igraph is not installed; `{igraph_installation()}` installs it") from None
    names = [switch_name(router) for router in found.representatives]
    return {"count": len(names), "sizes": list(found.sizes), "representatives": names}


def _between_hosts(topology: Topology) -> Mapping[str, float] | None:
    """Returns diameter and mean distance between routers with hosts, by key; None if all have hosts."""
    if topology.host_counts(1).all():
        return None
    counts = host_pairs_by_distance(topology)
    if not counts:
        return None
    mean = sum(distance * count for distance, count in counts.items()) / sum(counts.values())
    return {"diameter": max(counts), "average_path_length": round(mean, 6)}


@dataclass(frozen=True)
class NearestMember:
    """The member of a family that is nearest to a size, with the keys of `polarlab families --json`.

    Attributes:
        name, params: family, and the parameters that name the member.
        group: group of families, such as `low-diameter`.
        radix: largest number of links of a router to other routers.
        routers, links: their numbers.
        hosts: hosts attached to each router that has any, as in the family's source.
        endpoints: number of hosts.
        diameter: largest distance between two routers, in links.
        average_path_length: mean distance between two different routers, in links.
        moore_efficiency: number of routers divided by the Moore bound of radix and diameter.
        between_hosts: `diameter`, `average_path_length` between routers with hosts; None if all have hosts.
        bisection: share of the links cut by the best bisection that a few searches found; None, like the next
            two, unless costs are requested.
        cables: number of pairs of racks with links between them; each pair has one bundle of cables.
        cost_per_endpoint: price of routers and cables per host, in $.

    Examples:
        >>> nearest = nearest_members(endpoints=100, group="low-diameter")[0]
        >>> nearest.name, nearest.params, nearest.hosts, nearest.endpoints
        ('polarfly', {'q': 5}, 3, 93)
    """

    name: str
    params: Mapping[str, Value]
    group: str
    radix: int
    routers: int
    links: int
    hosts: int
    endpoints: int
    diameter: int
    average_path_length: float
    moore_efficiency: float
    between_hosts: Mapping[str, float] | None = None
    bisection: float | None = None
    cables: int | None = None
    cost_per_endpoint: float | None = None


def nearest_members(
    radix: int | None = None,
    endpoints: int | None = None,
    group: str | None = None,
    *,
    costs: bool = False,
    prices: Path | str | None = None,
) -> Rows[NearestMember]:
    """Returns the member of each family that is nearest to a network radix, a number of hosts, or both.

    With both, it is the member with the smallest sum of relative differences. With a radix alone, it is the
    member with most endpoints at the nearest radix. With endpoints alone, it is the member with the smallest
    radix among members within a tenth of that number, or else the nearest.

    Args:
        radix: links of a router to others, 3 or more.
        endpoints: hosts of the whole network, 2 or more.
        group: group of families, such as `low-diameter`; None for all.
        costs: whether to search for bisections and compute costs, which takes longer.
        prices: file of the prices (docs/how-to/costs.md); None for the Slim Fly paper's prices.

    Raises:
        UsageError: neither radix nor endpoints is given, a value is outside its domain, or prices are given
            without `costs`, or are incomplete.

    Examples:
        >>> [one.params for one in nearest_members(radix=8, group="low-diameter")][:3]
        [{'q': 7}, {'q': 4, 'supernode': 'iq', 'degree': 3}, {'q': 5}]
    """
    if radix is None and endpoints is None:
        raise UsageError("--radix or --endpoints must be given, as in: polarlab families --radix 32")
    if radix is not None:
        RADIX.check(radix)
    if endpoints is not None:
        ENDPOINTS.check(endpoints)
    if group not in (None, *SERIES):
        raise UsageError(f"group must be one of {', '.join(SERIES)}, got {group!r}{hint(str(group), SERIES)}")
    if prices is not None and not costs:
        raise UsageError("--prices needs --costs, as in: polarlab families --radix 32 --costs --prices FILE")
    priced = prices_from(prices) if costs else None
    chosen = {name: family for name, family in _by_groups().items() if group in (None, family.group)}
    nearest = {name: nearest_member(family, radix, endpoints) for name, family in chosen.items()}
    return Rows(_measured(name, chosen[name], one, priced) for name, one in nearest.items() if one)


def _measured(name: str, family: Family, member: Member, prices: Prices | None) -> NearestMember:
    """Builds the graph of a family's member and returns its sizes, and its costs if prices are given."""
    graph = make_topology(name, member.params)
    costs = vars(member_costs(graph, member.hosts, prices)) if prices else {}
    return NearestMember(
        name,
        dict(member.params),
        family.group,
        graph.network_radix,
        graph.routers,
        graph.links,
        member.hosts,
        graph.endpoints(member.hosts),
        graph.diameter,
        round(graph.average_path_length, 6),
        round(graph.moore_efficiency, 6),
        _between_hosts(graph),
        **costs,
    )


def export(topology: Topology, path: Path | str, format: str = "graphml", hosts: int = 1) -> Path:
    """Writes a graph to a new file, and returns the file.

    Args:
        topology: the graph.
        path: the file.
        format: `graphml`, `adjlist`, `json`, `booksim` or `sst`.
        hosts: hosts attached to each router that has any, for formats with hosts.

    Raises:
        UsageError: the format is unknown or cannot represent this graph, or the file exists.
        OSError: the file cannot be written.

    Examples:
        >>> path = export(topology("polarfly", q=2), "er2.adjlist", "adjlist")
        >>> path.read_text().splitlines()[:3]
        ['0 4 5 6', '1 3 4', '2 3 6']
    """
    from experiments.theory.export import export as write

    topology = checked_topology(topology)
    check_hosts(hosts)
    write(topology, hosts, format, Path(path))
    return Path(path)


def exported(topology: Topology, hosts: int, format: str) -> str:
    """Returns the text of the file that `export` writes."""
    from experiments.theory.export import exported as text

    return text(topology, hosts, format)


def check_export(path: Path | str, format: str) -> None:
    """Raises UsageError unless `export` can write the file in this format."""
    from experiments.theory.export import check_format
    from topology.files.writing import check_new

    check_format(format)
    check_new(Path(path))


def check_drawing(path: Path | str) -> None:
    """Raises UsageError unless `draw` can write the file."""
    from experiments.figures.style import check_figure

    check_figure(Path(path))


def draw(topology: Topology, path: Path | str | None = None) -> Figure:
    """Draws a graph by its structure, and writes the drawing to a new file if one is given.

    Args:
        topology: the graph.
        path: the file, .png, .svg or .pdf; None for no file.

    Raises:
        UsageError: the file's extension is not supported, or the file exists.
        OSError: the file cannot be written.

    Examples:
        >>> drawing = draw(topology("polarfly", q=3), "er3.svg")
        >>> drawing.get_suptitle()
        'polarfly (q = 3): 13 routers, 24 links'
    """
    from experiments.figures.fabric import topology_figure
    from experiments.figures.style import check_figure, save_new_figure
    from experiments.results.text import parameters

    topology = checked_topology(topology)
    format_ = check_figure(Path(path)) if path is not None else ""
    shown = f" ({parameters(topology.params)})" if topology.params else ""
    title = f"{topology.name}{shown}: {topology.routers} routers, {topology.links} links"
    figure = topology_figure(topology, title)
    if path is not None:
        save_new_figure(figure, Path(path), format_)
    return figure

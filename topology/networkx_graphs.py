"""Conversion of topologies to networkx graphs, and of connected undirected networkx graphs to topologies.

Attributes of such a graph, as written by `to_networkx` and read by `from_networkx`:

    node    name    name of the router's switch, `s1` for router 0 (written only)
            hosts   number of hosts of the router
            group   number of its cluster, from 0; absent if it belongs to none
            place   its position in the order of the cluster's routers, from 0
            label   its name in the source of the graph; absent if it has none
    link    port_a  port of the router with the lower index (written only)
            port_b  port of the other router
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from topology.addressing import MAX_HOSTS, switch_name
from topology.base import MAX_ROUTERS, Topology
from topology.clusters import Clusters
from topology.errors import ParameterError
from topology.shortest_paths import SearchedTopology, adjacency_from_links, connected_components

if TYPE_CHECKING:
    import networkx as nx  # importing it takes a third of a second

_SHOWN = 5  # maximum number of nodes that a message names
_DIGITS = 8  # digits of the checksum in a file name


class NetworkxTopology(SearchedTopology):
    """A connected networkx graph as a topology.

    Router order: the order of the graph's nodes; `labels` contains their names.
    """

    name = "graph"

    def __init__(
        self,
        links: npt.NDArray[np.int64],
        hosts: npt.NDArray[np.int64],
        labels: tuple[str, ...] = (),
        clusters: Clusters | None = None,
    ) -> None:
        """Creates the topology.

        Args:
            links: int64 array, links x 2: the two ends of every link; the graph is connected.
            hosts: int64 array, N: number of hosts of each router if p is 1.
            labels: the routers' names; empty if they have none.
            clusters: the clusters of the graph; None for none.
        """
        super().__init__(adjacency_from_links(len(hosts), links))
        self.params = {}
        self.labels = labels
        self._hosts, self._clusters = hosts, clusters or Clusters()

    def host_counts(self, hosts_per_router: int) -> npt.NDArray[np.int64]:
        """Returns the number of hosts attached to each router.

        Args:
            hosts_per_router: p, a factor for the graph's own numbers of hosts; at least 1.

        Returns:
            int64 array, N: number of hosts of each router.
        """
        return self._hosts * hosts_per_router

    def clusters(self) -> Clusters:
        """Returns the clusters defined by the attributes of the graph.

        Returns:
            The clusters; none if no node has the attribute `group`.
        """
        return self._clusters

    @cached_property
    def graphml(self) -> str:
        """The graph as GraphML; `from_graphml` reads the same topology from it."""
        return graphml(self, 1)

    @property
    def file_name(self) -> str:
        """The name of the file for this graph; different graphs have different names."""
        return f"graph-{hashlib.sha256(self.graphml.encode()).hexdigest()[:_DIGITS]}.graphml"


def to_networkx(topology: Topology, hosts: int = 1) -> nx.Graph:
    """Returns a topology as a networkx graph.

    Args:
        topology: the topology.
        hosts: p, the number of hosts at each router that has any; at least 1.

    Returns:
        An `nx.Graph`, or an `nx.MultiGraph` if two routers have parallel links. Its nodes are the routers
        0 .. N - 1, ascending; its links are sorted by their ends, each with its lower end first. Attributes
        of nodes and links are listed at the top of this module. The graph's own attributes are the family
        (`name`), the parameters, and the name of the clusters (`groups`).
    """
    import networkx as nx

    clusters = topology.clusters()
    graph = nx.MultiGraph() if has_parallel_links(topology) else nx.Graph()
    graph.graph |= {**topology.params, "name": topology.name}
    if clusters.members:
        graph.graph["groups"] = clusters.name
    for router, count in enumerate(topology.host_counts(hosts).tolist()):
        label = {"label": topology.labels[router]} if topology.labels else {}
        graph.add_node(router, name=switch_name(router), hosts=count, **label)
    for number, members in enumerate(clusters.members):
        for place, router in enumerate(members):
            graph.nodes[router].update(group=number, place=place)
    for link in topology.link_list:
        graph.add_edge(link.a, link.b, port_a=link.port_a, port_b=link.port_b)
    return graph


def graphml(topology: Topology, hosts: int) -> str:
    """Returns a topology in GraphML, with the attributes of `to_networkx`.

    Args:
        topology: the topology.
        hosts: p, the number of hosts at each router that has any; at least 1.
    """
    import networkx as nx

    return "\n".join(nx.generate_graphml(to_networkx(topology, hosts))) + "\n"


def from_graphml(text: str) -> NetworkxTopology:
    """Returns the topology described by a text from `NetworkxTopology.graphml`.

    Args:
        text: the GraphML.

    Raises:
        ParameterError: the text is not such GraphML.
    """
    import networkx as nx

    if "<!DOCTYPE" in text:  # its entities could expand without limit
        raise ParameterError("text must be GraphML written by PolarLab, without a document type")
    try:
        return from_networkx(nx.parse_graphml(text, node_type=int))
    except ParameterError:
        raise
    except (SyntaxError, ValueError, KeyError, IndexError, nx.NetworkXError):  # not such a graph
        raise ParameterError("text must be GraphML written by PolarLab") from None


def has_parallel_links(topology: Topology) -> bool:
    """Returns whether any two routers have several links between them.

    Args:
        topology: the topology.
    """
    return len({(link.a, link.b) for link in topology.link_list}) < topology.links


def from_networkx(graph: nx.Graph) -> NetworkxTopology:
    """Returns a networkx graph as a topology.

    Routers are numbered in the order of the graph's nodes (`list(graph)`), ports in the order of the
    neighbours behind them. `topology("graph", from_=FILE)` instead numbers the routers of a file by their
    names. In both cases, the number of a named router is `labels.index(name)`.

    This is the inverse of `to_networkx` for routers, default ports, hosts, clusters and labels. The family
    and ports set by `with_ports` are lost; a search for shortest paths replaces the family's formulas.

    The option `hosts` of other functions multiplies the attribute `hosts` of all nodes: with `hosts=2`, a
    node of 3 hosts gets 6, and a node of 0 gets none. With the default of 1, each node has as many hosts as
    its attribute says.

    Args:
        graph: a connected undirected graph without self-loops; several edges between two nodes of a
            MultiGraph are parallel links. Nodes may have the attributes `hosts` (0 to 254, by default 1),
            `group`, `place` and `label`; weights are ignored.

    Returns:
        The topology, of the family `graph`.

    Raises:
        ParameterError: no fabric can have this graph.

    Examples:
        >>> import networkx as nx
        >>> ring = from_networkx(nx.cycle_graph(5))
        >>> ring, ring.diameter
        (<graph: 5 routers, 5 links>, 2)
    """
    nodes, links = _checked(graph)
    if nodes == list(range(len(nodes))):
        given = [str(data["label"]) for _, data in graph.nodes(data=True) if "label" in data]
        labels = tuple(given) if len(given) == len(nodes) else ()
    else:
        labels = tuple(map(str, nodes))
    topology = NetworkxTopology(
        links, _host_numbers(graph), labels, _clusters(graph.nodes(data=True), graph.graph)
    )
    _check_connected(topology, nodes)
    return topology


def _checked(graph: Any) -> tuple[list[Hashable], npt.NDArray[np.int64]]:
    """Checks that a fabric can be built from a graph; raises ParameterError if it cannot.

    Returns:
        (nodes, links): the nodes in the order of the graph; int64 array, links x 2, of indices of nodes.
    """
    import networkx as nx

    if not isinstance(graph, nx.Graph):
        raise ParameterError(f"graph must be a networkx graph, got {type(graph).__name__}")
    if graph.is_directed():
        raise ParameterError(
            f"graph must be undirected, got {type(graph).__name__}; use graph.to_undirected()"
        )
    nodes = list(graph)
    if not 2 <= len(nodes) <= MAX_ROUTERS:
        raise ParameterError(f"graph must have 2 to {MAX_ROUTERS} nodes, got {len(nodes)}")
    for loop in nx.nodes_with_selfloops(graph):
        raise ParameterError(f"link must join two different nodes, got {loop!r} at both ends")
    number = {node: index for index, node in enumerate(nodes)}
    pairs = [sorted((number[a], number[b])) for a, b in graph.edges()]
    return nodes, np.array(pairs, np.int64).reshape(-1, 2)


def _check_connected(topology: Topology, nodes: Sequence[Hashable]) -> None:
    component = np.array(connected_components(topology))
    if component.any():
        smallest = np.bincount(component).argmin()
        some = [repr(nodes[index]) for index in np.flatnonzero(component == smallest)[:_SHOWN]]
        raise ParameterError(
            f"graph must be connected, got {component.max() + 1} components; one contains {', '.join(some)}"
        )


def _host_numbers(graph: nx.Graph) -> npt.NDArray[np.int64]:
    counts = []
    for node, count in graph.nodes(data="hosts", default=1):
        whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
        if not whole or not 0 <= count <= MAX_HOSTS:
            raise ParameterError(f"hosts of a node must be 0 to {MAX_HOSTS}, got {count!r} at {node!r}")
        counts.append(int(count))
    if sum(counts) < 2:
        raise ParameterError(f"graph must have at least two hosts, got {sum(counts)}")
    return np.array(counts, np.int64)


def _clusters(nodes: Any, attributes: Mapping[str, Any]) -> Clusters:
    """Returns the clusters that the nodes' attributes `group` and `place` define.

    They are in ascending order if all groups are numbers, else in order of first occurrence.

    Args:
        nodes: (node, attributes) of each node, in router order.
        attributes: the graph's own attributes, one of which may name the clusters.
    """
    members: dict[Any, list[tuple[int, int]]] = {}
    for router, (_, data) in enumerate(nodes):
        if "group" in data:
            members.setdefault(data["group"], []).append((data.get("place", router), router))
    groups = sorted(members) if all(isinstance(group, int) for group in members) else list(members)
    name = str(attributes.get("groups", "groups")) if members else ""
    return Clusters(tuple(tuple(router for _, router in sorted(members[group])) for group in groups), name)

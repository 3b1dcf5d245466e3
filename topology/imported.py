"""Any graph that a user brings: GraphML, an edge list or an adjacency list.

A line of an edge list is a link `a b`, a line of an adjacency list a router and its neighbours `a b c ...`,
as networkx writes them. A link that is named more than once in an edge list is that many parallel links.
Routers are numbered in the order of their names, numbers by their value.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from topology.errors import ParameterError
from topology.searched import SearchedTopology, from_links

if TYPE_CHECKING:
    import networkx as nx

MOST_ROUTERS = 1 << 14
_FORMATS = {".graphml": "graphml", ".adjlist": "adjlist"}


class Imported(SearchedTopology):
    """A connected graph from a file.

    Attributes:
        labels: each router's name in the file.
    """

    name = "graph"

    def __init__(self, **options: str) -> None:
        """Reads the file that the option `from` names, by its ending: .graphml, .adjlist, else an edge list.

        Raises:
            ParameterError: it cannot be read, or holds no connected undirected graph without self-loops; the
                text tells the place.
        """
        path = options["from"]
        graph = _read(Path(path))
        self.labels = tuple(sorted(map(str, graph.nodes), key=_by_value))
        number = {label: index for index, label in enumerate(self.labels)}
        _check(path, graph)
        links = np.array([[number[str(a)], number[str(b)]] for a, b in graph.edges()], np.int64)
        super().__init__(from_links(len(self.labels), links))
        self.params = {"from": path}


def _by_value(label: str) -> tuple[int, int, str]:
    return (0, int(label), label) if label.isdecimal() else (1, 0, label)


def _read(path: Path) -> nx.MultiGraph:
    import networkx as nx  # only here: importing it takes a third of a second

    kind = _FORMATS.get(path.suffix, "edgelist")
    try:
        if kind == "graphml":
            graph = nx.read_graphml(path, force_multigraph=True)
            if graph.is_directed():
                raise ParameterError(f"{path} holds a directed graph; links of a fabric go both ways")
            return graph
        text = path.read_text()
    except OSError as error:
        raise ParameterError(f"{path} cannot be read ({error.strerror})") from None
    except ParameterError:
        raise
    except Exception as error:  # networkx and XML parsers raise many kinds
        raise ParameterError(f"{path} is no GraphML: {' '.join(str(error).split())}") from None
    return _parse(path, text, one_link_a_line=kind == "edgelist")


def _parse(path: Path, text: str, *, one_link_a_line: bool) -> nx.MultiGraph:
    import networkx as nx

    graph = nx.MultiGraph()
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if one_link_a_line and (len(words) < 2 or (len(words) > 2 and not words[2].startswith("{"))):
            raise ParameterError(f"{path}, line {number}: a link is two names, not {line.strip()!r}")
        first, others = words[0], words[1:2] if one_link_a_line else words[1:]
        graph.add_node(first)
        for other in others:
            if other == first:
                raise ParameterError(f"{path}, line {number}: {first} is linked to itself")
            graph.add_edge(first, other)
    return graph


def _check(path: str, graph: nx.MultiGraph) -> None:
    import networkx as nx

    if graph.number_of_edges() == 0:
        raise ParameterError(f"{path} holds no link")
    if graph.number_of_nodes() > MOST_ROUTERS:
        raise ParameterError(
            f"{path} holds {graph.number_of_nodes()} routers; at most {MOST_ROUTERS} are possible"
        )
    loop = next((a for a, b in graph.edges() if a == b), None)
    if loop is not None:
        raise ParameterError(f"{path}: {loop} is linked to itself")
    if not nx.is_connected(graph):
        parts = sorted(nx.connected_components(graph), key=len)
        some = ", ".join(sorted(map(str, parts[0]))[:5])
        raise ParameterError(
            f"{path} holds {len(parts)} graphs that are not connected; one of them is {some}"
        )

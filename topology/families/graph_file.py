"""Graphs from files: GraphML, edge lists and adjacency lists.

A line of an edge list is a link `a b`, optionally followed by data in braces, which are ignored; both names
must have equally many commas, so that `New York,Boston` is refused, not read as `New` and `York,Boston`. A
line of an adjacency list is a router and its neighbours, `a b c ...`, as networkx writes them. A link that
occurs several times in an edge list or in GraphML is that many parallel links. In an adjacency list, a link
that one router lists k times is k parallel links. Routers are numbered in the order of their names, whatever
their order in the file; numeric names are sorted by value. `from_networkx` numbers them in the order of the
nodes.

A node of GraphML may have the attribute `hosts`, its number of hosts; the default is one. The option
`hosts` multiplies these numbers. If the nodes are 0 .. N - 1 and each has the attribute `label`, as in
exported graphs, the labels are the routers' names, and the nodes their numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from xml.parsers import expat

import numpy as np
import numpy.typing as npt

from topology.addressing import MAX_HOSTS
from topology.base import MAX_ROUTERS
from topology.errors import ParameterError
from topology.families.family import Family
from topology.files.escaping import quoted
from topology.files.reading import GRAPH_BYTES, read_bytes, read_text
from topology.parameters import Parameter
from topology.shortest_paths import SearchedTopology, adjacency_from_links, connected_components

_FORMATS = {".graphml": "graphml", ".xml": "graphml", ".adjlist": "adjlist"}
# The data that may follow the two names of a link in an edge list. A bare number is not allowed: `1 2 3`
# could be a link with a weight or a line of an adjacency list.
_DATA = re.compile(r"(\{.*\})?")

_Links = list[tuple[str, str]]


class GraphFile(SearchedTopology):
    """A connected graph from a file.

    Router order: by the names, numeric ones first and by value, whatever their order in the file. `labels`
    contains the names: `labels.index(name)` is the number of a router.
    """

    name = "graph"

    def __init__(self, **options: str) -> None:
        """Reads a graph from a file.

        Args:
            **options: `from`, the path of the file. Its suffix determines its format: .graphml or .xml,
                .adjlist; any other is an edge list.

        Raises:
            ParameterError: the file cannot be read, or does not contain one connected undirected graph of 2
                to 16384 routers without self-loops; the message names the file and, if possible, the line.
        """
        path = options["from"]
        names, links, hosts, names_of_numbers = _read(path)
        self.labels = tuple(sorted(names, key=_by_value))
        number = {label: index for index, label in enumerate(self.labels)}
        if not links:
            raise ParameterError(f"{path} must contain at least one link")
        if len(names) > MAX_ROUTERS:
            raise ParameterError(f"{path} must contain at most {MAX_ROUTERS} routers, got {len(names)}")
        super().__init__(
            adjacency_from_links(len(names), np.array([[number[a], number[b]] for a, b in links]))
        )
        self._check_connected(path)
        self.params = {"from": path}
        self._hosts = np.array([hosts.get(label, 1) for label in self.labels])
        if self._hosts.sum() < 2:
            raise ParameterError(f"{path} must contain at least two hosts, got {self._hosts.sum()}")
        if self.labels == tuple(map(str, range(self.routers))) and names_of_numbers.keys() == names:
            self.labels = tuple(names_of_numbers[label] for label in self.labels)

    def host_counts(self, hosts_per_router: int) -> npt.NDArray[np.int64]:
        """Returns the number of hosts attached to each router.

        Args:
            hosts_per_router: p, a factor for the numbers of hosts in the file; at least 1.

        Returns:
            int64 array, N: number of hosts of each router.
        """
        return self._hosts * hosts_per_router

    def _check_connected(self, path: str) -> None:
        component = np.array(connected_components(self))
        if component.any():
            smallest = np.bincount(component).argmin()
            labels = [self.labels[router] for router in np.flatnonzero(component == smallest)]
            raise ParameterError(
                f"{path} must contain a connected graph, got {component.max() + 1} components; one contains "
                + ", ".join(map(quoted, labels[:5]))
            )


def _by_value(label: str) -> tuple[int, int, str, str]:
    """Returns a sort key: numeric names first, by their value (of any length), then other names.

    `7` and `07` are different names of equal value; their order must be the same in every process.
    """
    digits = label.lstrip("0")
    is_number = label.isdecimal() and label.isascii()
    return (0, len(digits), digits, label) if is_number else (1, 0, label, label)


def _read(path: str) -> tuple[set[str], _Links, dict[str, int], dict[str, str]]:
    """Reads a graph file.

    Returns:
        Router names, links, router name -> number of its hosts, and router name -> its label.
    """
    if not path:
        raise ParameterError("graph file must be named, got an empty name")
    if path == "-":
        raise ParameterError("graph must be in a file, got - (standard input is not read)")
    kind = next((kind for ending, kind in _FORMATS.items() if path.lower().endswith(ending)), "edgelist")
    if kind == "graphml":
        return _GraphML(path).read(read_bytes(path, GRAPH_BYTES))
    lines = _words(path, read_text(path, GRAPH_BYTES))
    names, links = _adjacency(lines) if kind == "adjlist" else _edges(lines)
    return names, links, {}, {}


_Lines = Iterator[tuple[str, list[str]]]


def _words(path: str, text: str) -> _Lines:
    """Yields (`FILE, line N` for errors, words) for every non-empty line."""
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.partition("#")[0].split()
        if words:
            yield f"{path}, line {number}", words


def _edges(lines: _Lines) -> tuple[set[str], _Links]:
    names: set[str] = set()
    links: _Links = []
    for where, words in lines:
        separated = len({word.count(",") for word in words[:2]}) > 1
        if len(words) < 2 or separated or not _DATA.fullmatch(" ".join(words[2:])):
            raise ParameterError(
                f"{where}: link must be two names (a file that does not end in {', '.join(_FORMATS)} is an "
                f"edge list; commas do not separate), got {quoted(' '.join(words))}"
            )
        _check_ends(where, words[0], words[1])
        names |= set(words[:2])
        links.append((words[0], words[1]))
    return names, links


def _adjacency(lines: _Lines) -> tuple[set[str], _Links]:
    names: set[str] = set()
    counts: Counter[tuple[str, str]] = Counter()  # links by (router whose line names it, neighbour)
    for where, (router, *others) in lines:
        names |= {router, *others}
        for other in others:
            _check_ends(where, router, other)
            counts[router, other] += 1
    links: _Links = []
    for (a, b), times in counts.items():
        # A link may be listed by one of its ends or by both; the larger of both counts is used.
        if (b, a) not in counts or (times, a) > (counts[b, a], b):
            links += [(a, b)] * times
    return names, links


def _check_ends(where: str, a: str, b: str) -> None:
    if a == b:
        raise ParameterError(f"{where}: link must join two different routers, got {quoted(a)} at both ends")


class _GraphML:
    """A reader of GraphML whose error messages contain the line number.

    Edges with equal ids are parallel links; networkx would merge them.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._parser = expat.ParserCreate(namespace_separator=" ")
        # Entities could expand without limit; without a document type there are none.
        self._parser.StartDoctypeDeclHandler = self._refuse_document_type
        self._parser.StartElementHandler = self._begin
        self._parser.CharacterDataHandler = self._add_text
        self._parser.EndElementHandler = self._end
        self._graphs = 0
        self._root = ""
        self._names: set[str] = set()
        self._links: list[tuple[str, str, str]] = []  # source, target, line for errors
        self._hosts: dict[str, int] = {}
        self._labels: dict[str, str] = {}
        self._keys: dict[str, str] = {}  # id of a key -> the attribute of nodes that it marks
        self._node, self._text = "", ""
        self._attribute = ""  # the attribute whose text is being read

    def read(self, content: bytes) -> tuple[set[str], _Links, dict[str, int], dict[str, str]]:
        """Returns names, links, numbers of hosts and labels of the one graph in `content`."""
        try:
            self._parser.Parse(content, True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            place = f"{self._path}, line {error.lineno}"
            raise ParameterError(f"{place}: GraphML must be well-formed XML ({reason})") from None
        if not self._graphs:
            raise ParameterError(f"{self._path} must contain one GraphML graph, got none")
        for a, b, where in self._links:
            for end in (a, b):
                if end not in self._names:
                    raise ParameterError(f"{where}: edge must join nodes of the file, got {quoted(end)}")
            _check_ends(where, a, b)
        return self._names, [(a, b) for a, b, _ in self._links], self._hosts, self._labels

    def _refuse_document_type(self, *_declared: object) -> None:
        where = f"{self._path}, line {self._parser.CurrentLineNumber}"
        raise ParameterError(f"{where}: GraphML must not have a document type (DOCTYPE) or entities")

    def _begin(self, tag: str, attributes: dict[str, str]) -> None:
        element = tag.rpartition(" ")[2]  # without its namespace
        where = f"{self._path}, line {self._parser.CurrentLineNumber}"
        self._root = self._root or element
        if self._root != "graphml":
            raise ParameterError(f"{where}: root element must be graphml, got {quoted(self._root)}")
        if element == "graph":
            self._begin_graph(where, attributes)
        elif element == "node":
            self._add_node(where, attributes)
        elif element == "edge":
            self._add_edge(where, attributes)
        elif element == "hyperedge":
            raise ParameterError(f"{where}: link must have two ends, got a hyperedge")
        elif element == "key" and attributes.get("attr.name") in ("hosts", "label"):
            if attributes.get("for") in ("node", "all"):
                self._keys[attributes.get("id", "")] = attributes["attr.name"]
        elif element == "data" and self._node:
            self._attribute, self._text = self._keys.get(attributes.get("key", ""), ""), ""

    def _add_text(self, text: str) -> None:
        if self._attribute:
            self._text += text

    def _end(self, tag: str) -> None:
        element = tag.rpartition(" ")[2]
        if element == "node":
            self._node = ""
        elif element == "data" and self._attribute:
            attribute, self._attribute = self._attribute, ""
            text = " ".join(self._text.split())
            if attribute == "label":
                self._labels.update({self._node: text} if text else {})
                return
            if not (len(text) <= 3 and text.isascii() and text.isdecimal() and int(text) <= MAX_HOSTS):
                where = f"{self._path}, line {self._parser.CurrentLineNumber}"
                raise ParameterError(f"{where}: hosts of a node must be 0 to {MAX_HOSTS}, got {quoted(text)}")
            self._hosts[self._node] = int(text)

    def _begin_graph(self, where: str, attributes: dict[str, str]) -> None:
        _check_undirected(where, attributes.get("edgedefault") == "directed")
        self._graphs += 1
        if self._graphs > 1:
            raise ParameterError(f"{where}: file must contain one graph, got a second one")

    def _add_node(self, where: str, attributes: dict[str, str]) -> None:
        name = _attribute(where, "node", attributes, "id")
        if name in self._names:
            raise ParameterError(f"{where}: node names must differ, got {quoted(name)} twice")
        self._names.add(name)
        self._node = name

    def _add_edge(self, where: str, attributes: dict[str, str]) -> None:
        _check_undirected(where, attributes.get("directed") == "true")
        source, target = (_attribute(where, "edge", attributes, end) for end in ("source", "target"))
        self._links.append((source, target, where))


def _check_undirected(where: str, directed: bool) -> None:
    if directed:
        raise ParameterError(f"{where}: graph must be undirected, got directed links")


def _attribute(where: str, element: str, attributes: dict[str, str], name: str) -> str:
    if not attributes.get(name):
        raise ParameterError(f"{where}: element {element} must have the attribute {name}")
    return attributes[name]


FAMILY = Family(
    GraphFile,
    (
        Parameter(
            name="from",
            type=str,
            help="graph file: GraphML (.graphml), adjacency list (.adjlist) or edge list (two names per "
            "line, no weights)",
            required=True,
            file=True,
            metavar="FILE",
        ),
    ),
    "any connected graph from a file",
    "graph --from examples/torus-3x3.edges",
    "file",
)

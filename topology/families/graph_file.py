"""Graphs from files: GraphML, edge lists and adjacency lists.

A line of an edge list is a link `a b`, with data in braces behind it that are ignored; a line of an adjacency
list is a router and its neighbours `a b c ...`, as networkx writes them. A link that an edge list or GraphML
names several times is that many parallel links; in an adjacency list, a link that one router names several
times. Routers are numbered in the order of their names, numbers by their value.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.parsers import expat

import numpy as np

from topology.base import MAX_ROUTERS
from topology.errors import ParameterError
from topology.shortest_paths import SearchedTopology, adjacency_from_links, connected_components

_FORMATS = {".graphml": "graphml", ".xml": "graphml", ".adjlist": "adjlist"}
_SHOWN = 60  # characters of a line that is wrong
# The data that may follow a link's two names in an edge list. A number may not: `1 2 3` could be a link with
# a weight as well as a line of an adjacency list.
_DATA = re.compile(r"(\{.*\})?")

_Links = list[tuple[str, str]]


class GraphFile(SearchedTopology):
    """A connected graph from a file.

    Router order: by the names in the file, numbers first and by their value; `labels` holds the names.
    """

    name = "graph"

    def __init__(self, **options: str) -> None:
        """Reads a graph from a file.

        Args:
            **options: `from`, the path of the file. Its ending tells its format: .graphml or .xml, .adjlist;
                any other is an edge list.

        Raises:
            ParameterError: the file cannot be read, or does not hold one connected undirected graph of at
                least two and at most 16384 routers without self-loops; the text names the place.
        """
        path = options["from"]
        names, links = _read(path)
        self.labels = tuple(sorted(names, key=_by_value))
        number = {label: index for index, label in enumerate(self.labels)}
        if not links:
            raise ParameterError(f"{path} must hold at least one link")
        if len(names) > MAX_ROUTERS:
            raise ParameterError(f"{path} must hold at most {MAX_ROUTERS} routers, got {len(names)}")
        super().__init__(
            adjacency_from_links(len(names), np.array([[number[a], number[b]] for a, b in links]))
        )
        self._check_connected(path)
        self.params = {"from": path}

    def _check_connected(self, path: str) -> None:
        component = np.array(connected_components(self))
        if component.any():
            smallest = np.bincount(component).argmin()
            labels = [self.labels[router] for router in np.flatnonzero(component == smallest)]
            raise ParameterError(
                f"{path} must hold one connected graph, got {component.max() + 1}; one holds the routers "
                + ", ".join(labels[:5])
            )


def _by_value(label: str) -> tuple[int, int, str, str]:
    """Returns a key that sorts numbers by their value, however long, and before other names.

    `7` and `07` are two names, which every process must number alike.
    """
    digits = label.lstrip("0")
    is_number = label.isdecimal() and label.isascii()
    return (0, len(digits), digits, label) if is_number else (1, 0, label, label)


def _read(path: str) -> tuple[set[str], _Links]:
    """Returns the routers' names and the links of a file."""
    kind = _FORMATS.get(Path(path).suffix.lower(), "edgelist")
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ParameterError(f"{path or 'a file without a name'} cannot be read ({error.strerror})") from None
    if kind == "graphml":
        return _GraphML(path).read(content)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ParameterError(f"{path} must be a text in UTF-8") from None
    lines = _words(path, text)
    return _adjacency(lines) if kind == "adjlist" else _edges(lines)


_Lines = Iterator[tuple[str, list[str]]]


def _words(path: str, text: str) -> _Lines:
    """Yields the place and the words of every line that has any."""
    for number, line in enumerate(text.split("\n"), start=1):
        where = f"{path}, line {number}"
        if "\0" in line:
            raise ParameterError(f"{where}: a line must be text, got a NUL character")
        words = line.partition("#")[0].split()
        if words:
            yield where, words


def _edges(lines: _Lines) -> tuple[set[str], _Links]:
    names: set[str] = set()
    links: _Links = []
    for where, words in lines:
        if len(words) < 2 or not _DATA.fullmatch(" ".join(words[2:])):
            raise ParameterError(f"{where}: a link must be two names, got {_shown(' '.join(words))}")
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
        # Either end of a link may name it, or both.
        if (b, a) not in counts or (times, a) > (counts[b, a], b):
            links += [(a, b)] * times
    return names, links


def _check_ends(where: str, a: str, b: str) -> None:
    if a == b:
        raise ParameterError(f"{where}: a link must join two routers, got {_shown(a)} at both ends")


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


class _GraphML:
    """A reader of GraphML whose errors name the line.

    Links with equal ids are parallel links; networkx would take them for one.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._begin
        self._graphs = 0
        self._root = ""
        self._names: set[str] = set()
        self._links: list[tuple[str, str, str]] = []  # source, target, place

    def read(self, content: bytes) -> tuple[set[str], _Links]:
        """Returns the names of the nodes and the links of the one graph in `content`."""
        try:
            self._parser.Parse(content, True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            place = f"{self._path}, line {error.lineno}"
            raise ParameterError(f"{place}: GraphML must be well-formed XML ({reason})") from None
        if not self._graphs:
            raise ParameterError(f"{self._path} must hold one graph in GraphML, got none")
        for a, b, where in self._links:
            for end in (a, b):
                if end not in self._names:
                    raise ParameterError(f"{where}: an edge must join nodes of the file, got {_shown(end)}")
            _check_ends(where, a, b)
        return self._names, [(a, b) for a, b, _ in self._links]

    def _begin(self, tag: str, attributes: dict[str, str]) -> None:
        element = tag.rpartition(" ")[2]  # without its namespace
        where = f"{self._path}, line {self._parser.CurrentLineNumber}"
        self._root = self._root or element
        if self._root != "graphml":
            raise ParameterError(f"{where}: the root element must be graphml, got {_shown(self._root)}")
        if element == "graph":
            self._begin_graph(where, attributes)
        elif element == "node":
            self._add_node(where, attributes)
        elif element == "edge":
            self._add_edge(where, attributes)
        elif element == "hyperedge":
            raise ParameterError(f"{where}: a link must have two ends, got a hyperedge")

    def _begin_graph(self, where: str, attributes: dict[str, str]) -> None:
        _check_undirected(where, attributes.get("edgedefault") == "directed")
        self._graphs += 1
        if self._graphs > 1:
            raise ParameterError(f"{where}: the file must hold one graph, got a second graph")

    def _add_node(self, where: str, attributes: dict[str, str]) -> None:
        name = _attribute(where, "node", attributes, "id")
        if name in self._names:
            raise ParameterError(f"{where}: names of nodes must differ, got {_shown(name)} twice")
        self._names.add(name)

    def _add_edge(self, where: str, attributes: dict[str, str]) -> None:
        _check_undirected(where, attributes.get("directed") == "true")
        source, target = (_attribute(where, "edge", attributes, end) for end in ("source", "target"))
        self._links.append((source, target, where))


def _check_undirected(where: str, directed: bool) -> None:
    if directed:
        raise ParameterError(f"{where}: the graph must be undirected, got directed links")


def _attribute(where: str, element: str, attributes: dict[str, str], name: str) -> str:
    if not attributes.get(name):
        raise ParameterError(f"{where}: element {element} must have the attribute {name}")
    return attributes[name]

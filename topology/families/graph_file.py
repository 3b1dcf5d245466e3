"""Any graph that a user brings: GraphML, an edge list or an adjacency list.

A line of an edge list is a link `a b`, with data in braces behind it that are not looked at; a line of an
adjacency list is a router and its neighbours `a b c ...`, as networkx writes them. A link that an edge list
or GraphML names more than once is that many parallel links; in an adjacency list, one that a router names
more than once. Routers are numbered in the order of their names, numbers by their value.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.parsers import expat

import numpy as np

from topology.base import MOST_ROUTERS
from topology.errors import ParameterError
from topology.shortest_paths import SearchedTopology, adjacency_from_links, connected_components

_FORMATS = {".graphml": "graphml", ".xml": "graphml", ".adjlist": "adjlist"}
_SHOWN = 60  # characters of a line that is wrong
# What may follow a link's two names in an edge list. No number: whether `1 2 3` is a weight or the line of an
# adjacency list cannot be told.
_DATA = re.compile(r"(\{.*\})?")

_Links = list[tuple[str, str]]


class GraphFile(SearchedTopology):
    """A connected graph from a file; `labels` are the routers' names there."""

    name = "graph"

    def __init__(self, **options: str) -> None:
        """Reads the file that the option `from` names, by its ending: .graphml, .adjlist, else an edge list.

        Raises:
            ParameterError: it cannot be read, or holds no connected undirected graph without self-loops; the
                text tells the place.
        """
        path = options["from"]
        names, links = _read(path)
        self.labels = tuple(sorted(names, key=_by_value))
        number = {label: index for index, label in enumerate(self.labels)}
        if not links:
            raise ParameterError(f"{path} holds no link")
        if len(names) > MOST_ROUTERS:
            raise ParameterError(f"{path} holds {len(names)} routers; at most {MOST_ROUTERS} are possible")
        super().__init__(
            adjacency_from_links(len(names), np.array([[number[a], number[b]] for a, b in links]))
        )
        self._check_connected(path)
        self.params = {"from": path}

    def _check_connected(self, path: str) -> None:
        part = np.array(connected_components(self))
        if part.any():
            some = [self.labels[router] for router in np.flatnonzero(part == np.bincount(part).argmin())]
            raise ParameterError(
                f"{path} holds {part.max() + 1} graphs that are not connected; one of them is "
                + ", ".join(some[:5])
            )


def _by_value(label: str) -> tuple[int, int, str, str]:
    """Returns a key that sorts numbers by their value, however long, and before other names.

    `7` and `07` are two names: every process has to number them alike.
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
        raise ParameterError(f"{path} is no text (UTF-8)") from None
    lines = _words(path, text)
    return _adjacency(lines) if kind == "adjlist" else _edges(lines)


_Lines = Iterator[tuple[str, list[str]]]


def _words(path: str, text: str) -> _Lines:
    """Yields the place and the words of every line that has any."""
    for number, line in enumerate(text.split("\n"), start=1):
        where = f"{path}, line {number}"
        if "\0" in line:
            raise ParameterError(f"{where}: this is no text")
        words = line.partition("#")[0].split()
        if words:
            yield where, words


def _edges(lines: _Lines) -> tuple[set[str], _Links]:
    names: set[str] = set()
    links: _Links = []
    for where, words in lines:
        if len(words) < 2 or not _DATA.fullmatch(" ".join(words[2:])):
            raise ParameterError(f"{where}: a link is two names, not {_shown(' '.join(words))}")
        _check_ends(where, words[0], words[1])
        names |= set(words[:2])
        links.append((words[0], words[1]))
    return names, links


def _adjacency(lines: _Lines) -> tuple[set[str], _Links]:
    names: set[str] = set()
    said: Counter[tuple[str, str]] = Counter()  # by (who says it, the other)
    for where, (router, *others) in lines:
        names |= {router, *others}
        for other in others:
            _check_ends(where, router, other)
            said[router, other] += 1
    links: _Links = []
    for (a, b), times in said.items():
        # Either of the two may name a link, or both.
        if (b, a) not in said or (times, a) > (said[b, a], b):
            links += [(a, b)] * times
    return names, links


def _check_ends(where: str, a: str, b: str) -> None:
    if a == b:
        raise ParameterError(f"{where}: {_shown(a)} is linked to itself")


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


class _GraphML:
    """Reads one graph, and tells the line of what is wrong.

    Links that networkx would take for one, because their ids are alike, are several here.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._begin
        self._graphs = 0
        self._root = ""
        self._names: dict[str, str] = {}
        self._links: list[tuple[str, str, str]] = []

    def read(self, content: bytes) -> tuple[set[str], _Links]:
        try:
            self._parser.Parse(content, True)
        except expat.ExpatError as error:
            what = expat.ErrorString(error.code)
            raise ParameterError(f"{self._path}, line {error.lineno}: this is no XML ({what})") from None
        if not self._graphs:
            raise ParameterError(f"{self._path} is no GraphML: it holds no graph")
        for a, b, where in self._links:
            for end in (a, b):
                if end not in self._names:
                    raise ParameterError(f"{where}: there is no node {_shown(end)}")
            _check_ends(where, a, b)
        return set(self._names), [(a, b) for a, b, _ in self._links]

    def _begin(self, tag: str, attributes: dict[str, str]) -> None:
        kind = tag.rpartition(" ")[2]
        where = f"{self._path}, line {self._parser.CurrentLineNumber}"
        self._root = self._root or kind
        if self._root != "graphml":
            raise ParameterError(f"{where}: this is no GraphML but {_shown(self._root)}")
        directed = (
            attributes.get("edgedefault") == "directed"
            if kind == "graph"
            else (kind == "edge" and attributes.get("directed") == "true")
        )
        if directed:
            raise ParameterError(f"{where}: a directed graph; links of a fabric go both ways")
        if kind == "graph":
            self._graphs += 1
            if self._graphs > 1:
                raise ParameterError(f"{where}: a second graph")
        elif kind == "hyperedge":
            raise ParameterError(f"{where}: a hyperedge; a link has two ends")
        elif kind == "node":
            name = self._attribute(where, "node", attributes, "id")
            if name in self._names:
                raise ParameterError(f"{where}: the node {_shown(name)} stands there twice")
            self._names[name] = where
        elif kind == "edge":
            ends = (self._attribute(where, "edge", attributes, end) for end in ("source", "target"))
            a, b = ends
            self._links.append((a, b, where))

    def _attribute(self, where: str, element: str, attributes: dict[str, str], name: str) -> str:
        if not attributes.get(name):
            raise ParameterError(f"{where}: a{'n' * (element[0] in 'aeiou')} {element} without {name}")
        return attributes[name]

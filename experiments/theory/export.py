"""Exports of graphs to the file formats of other programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from topology.base import Topology
from topology.errors import UsageError
from topology.files.writing import write_new
from topology.networkx_graphs import graphml, has_parallel_links
from topology.parameters import hint, spelled


def export(topology: Topology, hosts: int, format_: str, path: Path) -> None:
    """Writes a graph to a file that does not exist yet.

    Args:
        topology: the graph.
        hosts: hosts per router, for formats with hosts.
        format_: one of FORMATS.
        path: the file.

    Raises:
        UsageError: the format is not one of FORMATS or cannot represent this graph, or the file exists.
        OSError: the file cannot be written.
    """
    write_new(path, exported(topology, hosts, format_).encode())


def exported(topology: Topology, hosts: int, format_: str) -> str:
    """Returns a graph as a file's text; the arguments and errors are those of `export`."""
    return FORMATS[check_format(format_)](topology, hosts)


def check_format(format_: str) -> str:
    """Returns a format's name in FORMATS, ignoring case; raises UsageError if there is no such format."""
    name = spelled(format_, FORMATS)
    if name not in FORMATS:
        known = sorted(FORMATS)
        raise UsageError(f"format must be one of {', '.join(known)}, got {format_!r}{hint(format_, known)}")
    return name


def _adjacency_list(topology: Topology, _hosts: int) -> str:
    """Returns a line per router with its neighbours of higher index, in networkx's adjacency list format."""
    lines = []
    for router in range(topology.routers):
        later = [n for n in topology.neighbours(router).tolist() if n > router]
        lines.append(" ".join(map(str, [router, *later])))
    return "\n".join(lines) + "\n"


def _json(topology: Topology, _hosts: int) -> str:
    links = [[link.a, link.b, link.port_a, link.port_b] for link in topology.link_list]
    content = {
        "name": topology.name,
        "params": dict(topology.params),
        "routers": topology.routers,
        **({"labels": list(topology.labels)} if topology.labels else {}),
        "link_fields": ["a", "b", "port_a", "port_b"],
        "links": links,
    }
    return json.dumps(content) + "\n"


def _booksim(topology: Topology, hosts: int) -> str:
    """Returns BookSim's `anynet` format: a line per router with its nodes and neighbours of higher index.

    Each link is listed once and works in both directions; nodes are numbered router by router.
    """
    if has_parallel_links(topology):
        raise UsageError("BookSim's anynet format has no parallel links; try graphml or json")
    lines = []
    counts = topology.host_counts(hosts)
    first_nodes = np.cumsum(counts) - counts
    for router, (first, count) in enumerate(zip(first_nodes.tolist(), counts.tolist(), strict=True)):
        nodes = [f"node {first + index}" for index in range(count)]
        later = [f"router {n}" for n in topology.neighbours(router).tolist() if n > router]
        lines.append(" ".join([f"router {router}", *nodes, *later]))
    return "\n".join(lines) + "\n"


def _edge_list(topology: Topology, _hosts: int) -> str:
    """Returns a line per link with its two routers, for SST Merlin's `anytopo`; includes parallel links."""
    return "".join(f"{link.a} {link.b}\n" for link in topology.link_list)


FORMATS: Mapping[str, Callable[[Topology, int], str]] = {
    "adjlist": _adjacency_list,
    "booksim": _booksim,
    "graphml": graphml,
    "json": _json,
    "sst": _edge_list,
}

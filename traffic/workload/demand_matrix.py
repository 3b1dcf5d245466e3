"""Demand matrices from CSV files: the share of each source's packets that goes to each destination."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator

from topology.addressing import hosts_of
from topology.base import Topology
from topology.errors import ParameterError
from topology.files.escaping import quoted
from topology.files.reading import TABLE_BYTES, read_lines

COLUMNS = ["source", "destination", "share"]
_TOLERANCE = 1e-6  # deviation of a source's sum of shares from 1, because files have rounded numbers

Entries = tuple[tuple[int, int, float], ...]


def read_matrix(path: str, topology: Topology, hosts_per_router: int) -> Entries:
    """Reads a demand matrix from a CSV file with the columns source, destination and share.

    Hosts have the names of the emulation (`h3_1`). A host that is not listed as a source is idle.

    Args:
        path: path of the file (UTF-8, with or without a byte order mark).
        topology: the graph of routers; its `host_counts` defines which of them have hosts.
        hosts_per_router: concentration p, the number of hosts at each router with hosts.

    Returns:
        (source, destination, share) for every share over 0, ascending: indices of the hosts, and the share as
        a fraction of the source's packets.

    Raises:
        ParameterError: the file cannot be read, names an unknown host, lists a pair twice, or a source's
            shares do not add up to 1; the message contains the line number, or the source.
    """
    indices = {host.name: index for index, host in enumerate(hosts_of(topology, hosts_per_router))}
    shares: dict[tuple[int, int], float] = {}
    for number, line in _lines(path):
        source, destination, share = _entry(line, f"{path}, line {number}", indices)
        if (source, destination) in shares:
            raise ParameterError(f"{path}, line {number}: pair {line[0]}, {line[1]} must not occur twice")
        if share:
            shares[source, destination] = share
    _check_sums(path, shares, tuple(indices))
    return tuple((source, destination, share) for (source, destination), share in sorted(shares.items()))


def _lines(path: str) -> Iterator[tuple[int, list[str]]]:
    """Yields the line number and the fields of every line below the header of a CSV file."""
    reader = csv.reader(read_lines(path, TABLE_BYTES, what="demand matrix"))
    try:
        header = next(reader, [])
        if [word.strip() for word in header] != COLUMNS:
            got = quoted(",".join(header))
            raise ParameterError(f"{path}, line 1: columns must be {','.join(COLUMNS)}, got {got}")
        yield from ((number, line) for number, line in enumerate(reader, start=2) if line)
    except csv.Error as error:
        raise ParameterError(f"demand matrix {path} must be a CSV file ({error})") from None


def _entry(line: list[str], place: str, indices: dict[str, int]) -> tuple[int, int, float]:
    """Parses a line; returns the indices of the source and destination hosts, and the share."""
    words = [word.strip() for word in line]
    if len(words) != len(COLUMNS):
        raise ParameterError(f"{place}: number of columns must be {len(COLUMNS)}, got {len(words)}")
    for column, name in zip(COLUMNS, words[:2], strict=False):
        if name not in indices:
            first, *_, last = indices
            raise ParameterError(
                f"{place}: {column} must be a host from {first} to {last}, got {quoted(name)}"
            )
    if words[0] == words[1]:
        raise ParameterError(f"{place}: destination must differ from the source, got {words[0]} twice")
    try:
        share = float(words[2])
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise ParameterError(f"{place}: share must be a number from 0 to 1, got {quoted(words[2])}")
    return indices[words[0]], indices[words[1]], share


def _check_sums(path: str, shares: dict[tuple[int, int], float], names: tuple[str, ...]) -> None:
    if not shares:
        raise ParameterError(f"{path}: at least one share must be over 0")
    sums: dict[int, float] = {}
    for (source, _), share in shares.items():
        sums[source] = sums.get(source, 0.0) + share
    for source, total in sums.items():
        if abs(total - 1) > _TOLERANCE:
            raise ParameterError(f"{path}: sum of the shares of {names[source]} must be 1, got {total:g}")

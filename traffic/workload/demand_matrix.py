"""A demand matrix from a CSV file: which share of a source's packets goes to which destination."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from topology.addressing import hosts_of
from topology.base import Topology
from topology.errors import ParameterError

COLUMNS = ["source", "destination", "share"]
_TOLERANCE = 1e-6

Entries = tuple[tuple[int, int, float], ...]


def read_matrix(path: str, topology: Topology, concentration: int) -> Entries:
    """Returns what a file with these columns says: (source, destination, share), hosts by their numbers.

    Hosts that are no source are idle.

    Raises:
        ParameterError: the file cannot be read, names an unknown host or a pair twice, or a source's shares
            do not add up to 1; the text tells the line.
    """
    numbers = {host.name: number for number, host in enumerate(hosts_of(topology, concentration))}
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            lines = list(csv.reader(file))
    except OSError as error:
        raise ParameterError(f"{path} cannot be read ({error.strerror})") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ParameterError(f"{path} is no CSV file ({error})") from None
    if not lines or [word.strip() for word in lines[0]] != COLUMNS:
        raise ParameterError(f"{path}, line 1: the columns are to be {','.join(COLUMNS)}")
    found: dict[tuple[int, int], float] = {}
    for place, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        source, destination, share = _entry(line, f"{path}, line {place}", numbers)
        if (source, destination) in found:
            raise ParameterError(f"{path}, line {place}: {line[0]} to {line[1]} stands there twice")
        if share:
            found[source, destination] = share
    _check_sums(path, found, tuple(numbers))
    return tuple((source, destination, share) for (source, destination), share in sorted(found.items()))


def _entry(line: list[str], where: str, numbers: dict[str, int]) -> tuple[int, int, float]:
    words = [word.strip() for word in line]
    if len(words) != len(COLUMNS):
        raise ParameterError(f"{where}: {len(words)} columns, not {len(COLUMNS)}")
    for name in words[:2]:
        if name not in numbers:
            last = max(numbers, key=lambda host: numbers[host])
            raise ParameterError(f"{where}: there is no host {name!r}; hosts are h1_1 to {last}")
    if words[0] == words[1]:
        raise ParameterError(f"{where}: {words[0]} sends to itself")
    try:
        share = float(words[2])
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise ParameterError(f"{where}: a share is a number from 0 to 1, not {words[2]!r}")
    return numbers[words[0]], numbers[words[1]], share


def _check_sums(path: str, found: dict[tuple[int, int], float], names: tuple[str, ...]) -> None:
    if not found:
        raise ParameterError(f"{path} holds no share over 0")
    sums: dict[int, float] = {}
    for (source, _), share in found.items():
        sums[source] = sums.get(source, 0.0) + share
    for source, total in sums.items():
        if abs(total - 1) > _TOLERANCE:
            raise ParameterError(f"{path}: the shares of {names[source]} add up to {total:g}, not to 1")

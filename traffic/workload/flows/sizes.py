"""Distributions of flow sizes: published distributions, a fixed size, or points from a CSV file."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from topology.errors import ParameterError, UsageError
from topology.files.escaping import quoted
from topology.files.reading import TABLE_BYTES, FileError, read_lines
from topology.units import BYTES, number_of
from traffic.workload.flows.frames import segments

# Published distributions: names of CSV files next to this module.
PUBLISHED = ("web-search", "data-mining")
FIXED = "fixed"
COLUMNS = ["bytes", "cumulative_probability"]
MAX_FLOW_BYTES = 10**12
_QUANTILES = 100_000
_MAX_DIGITS = 18


@dataclass(frozen=True)
class FlowSizes:
    """Distribution of flow sizes: points of the cumulative distribution function, linearly interpolated.

    Attributes:
        bytes: sizes, ascending, at least 1.
        probability: probability that a flow has at most that size, ascending; the last is 1. If the first is
            above 0, it is the probability of exactly the first size.
    """

    bytes: tuple[float, ...]
    probability: tuple[float, ...]

    def quantiles(self, fractions: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Returns quantiles of the flow sizes.

        Args:
            fractions: fractions of the flows, 0 to 1; any shape.

        Returns:
            Sizes in bytes, at least 1; int64 array of the same shape.
        """
        sizes = np.interp(fractions, self.probability, self.bytes)
        return np.maximum(1, np.rint(sizes)).astype(np.int64)

    def mean_bytes(self) -> float:
        """Returns the mean size in bytes."""
        sizes, steps = np.array(self.bytes), np.diff(self.probability)
        return float(self.probability[0] * sizes[0] + (steps * (sizes[1:] + sizes[:-1]) / 2).sum())

    def mean_segments(self, mtu: int) -> float:
        """Returns the mean number of frames per flow.

        Args:
            mtu: maximum packet size of the links in bytes.

        Returns:
            The mean over evenly spaced quantiles.
        """
        middles = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
        return float(segments(self.quantiles(middles), mtu).mean())

    def limited(self, max_bytes: int) -> FlowSizes:
        """Returns the distribution truncated at a maximum size.

        Args:
            max_bytes: maximum size in bytes, at least 1.

        Returns:
            The distribution in which all larger flows have exactly the maximum size.
        """
        if max_bytes >= self.bytes[-1]:
            return self
        if max_bytes <= self.bytes[0]:
            return FlowSizes((float(max_bytes),), (1.0,))
        reached = float(np.interp(max_bytes, self.bytes, self.probability))
        kept = [point for point in zip(self.bytes, self.probability, strict=True) if point[0] < max_bytes]
        sizes, probability = zip(*kept, (float(max_bytes), reached), (float(max_bytes), 1.0), strict=True)
        return FlowSizes(tuple(sizes), tuple(probability))


def make_sizes(name: str) -> FlowSizes:
    """Returns a distribution of flow sizes by its name on the command line.

    Args:
        name: one of PUBLISHED, `fixed:BYTES`, or the path of a CSV file with the columns COLUMNS.

    Returns:
        The distribution.

    Raises:
        UsageError: the name is invalid, or the file does not exist.
        ParameterError: the file cannot be read, or its points are not a distribution; the message contains
            the number of a wrong line.
    """
    kind, _, argument = name.partition(":")
    if kind == FIXED:
        size = number_of("flow size", argument, BYTES)
        if size is None or size % 1 or not 1 <= size <= MAX_FLOW_BYTES:
            raise UsageError(
                f"flow size must be 1 to {MAX_FLOW_BYTES} bytes, for example fixed:100KB, got {argument!r}"
            )
        return FlowSizes((float(size),), (1.0,))
    if name in PUBLISHED:
        return read_sizes(str(files(__package__).joinpath(f"{name}.csv")))
    try:
        return read_sizes(name)
    except FileError as error:
        if error.missing and ("." in name or "/" in name):
            raise UsageError(f"file of flow sizes must exist, got {quoted(name)}") from None
        if error.missing:
            raise UsageError(
                f"flow sizes must be {', '.join(PUBLISHED)}, fixed:BYTES or a CSV file, got {quoted(name)}"
            ) from None
        raise


def read_sizes(path: str) -> FlowSizes:
    """Reads a distribution from a CSV file with the columns COLUMNS; lines that start with # are comments.

    Args:
        path: path of the file (UTF-8, with or without a byte order mark).

    Returns:
        The distribution.

    Raises:
        ParameterError: the file cannot be read, or its points are not a distribution; the message contains
            the number of a wrong line.
    """
    points: list[tuple[float, float]] = []
    for number, words in csv_lines(path, COLUMNS, "distribution"):
        point = _point(words, f"{path}, line {number}")
        if points and point[0] < points[-1][0]:
            raise ParameterError(f"{path}, line {number}: bytes must not decrease, got {point[0]:g}")
        if points and point[1] < points[-1][1]:
            raise ParameterError(
                f"{path}, line {number}: cumulative probability must not decrease, got {point[1]:g}"
            )
        points.append(point)
    if not points or points[-1][1] != 1:
        last = f"{points[-1][1]:g}" if points else "no points"
        raise ParameterError(f"{path}: last cumulative probability must be 1, got {last}")
    return FlowSizes(tuple(size for size, _ in points), tuple(probability for _, probability in points))


def _point(words: list[str], place: str) -> tuple[float, float]:
    """Parses a line; returns a flow size in bytes and its cumulative probability."""
    size, probability = map(_number, words)
    if not 1 <= size <= MAX_FLOW_BYTES:
        raise ParameterError(f"{place}: bytes must be 1 to {MAX_FLOW_BYTES}, got {quoted(words[0])}")
    if not 0 <= probability <= 1:
        raise ParameterError(f"{place}: cumulative probability must be 0 to 1, got {quoted(words[1])}")
    return size, probability


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def whole_number(text: str) -> int | None:
    """Parses a whole number of at most 18 digits.

    Args:
        text: a cell of a file.

    Returns:
        The number; None if the text is anything else.
    """
    return int(text) if len(text) <= _MAX_DIGITS and text.isascii() and text.isdecimal() else None


def csv_lines(path: str, columns: list[str], what: str) -> Iterator[tuple[int, list[str]]]:
    """Yields the lines of a CSV file below its header, without comments (#) and empty lines.

    Args:
        path: path of the file (UTF-8, with or without a byte order mark).
        columns: the required columns.
        what: noun for the file, for error messages.

    Yields:
        The line number, from 1, and the stripped fields, as many as columns.

    Raises:
        ParameterError: the file cannot be read, or has other columns; the message contains the line number.
    """
    has_header = False
    for number, line in enumerate(read_lines(path, TABLE_BYTES, what=what), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            words = [word.strip() for word in next(csv.reader([line]))]
        except csv.Error as error:
            raise ParameterError(f"{path}, line {number}: line must be CSV ({error})") from None
        if has_header and len(words) != len(columns):
            raise ParameterError(
                f"{path}, line {number}: number of columns must be {len(columns)}, got {len(words)}"
            )
        if has_header:
            yield number, words
        elif words != columns:
            raise ParameterError(
                f"{path}, line {number}: columns must be {','.join(columns)}, got {quoted(line.strip())}"
            )
        has_header = True
    if not has_header:
        raise ParameterError(f"{path}: columns must be {','.join(columns)}, got an empty file")

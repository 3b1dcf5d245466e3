"""Collective operations: their vectors, correct results, message sizes and bus factors.

A collective is a class, in this module or one of its own, and an entry in `registry`. Its algorithms are
functions (`algorithms`). Elements are unsigned 32-bit integers, because their sum modulo 2^32 does not depend
on the order of the additions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from traffic.workload.collectives.algorithms import (
    Algorithm,
    binary_tree,
    pairwise,
    rabenseifner,
    recursive_doubling,
    ring,
    split_evenly,
)

ELEMENT = np.dtype("<u4")

Elements = npt.NDArray[np.uint32]


@runtime_checkable
class Collective(Protocol):
    """A collective operation; the vectors of all ranks have the same length.

    Attributes:
        algorithms: algorithms by name; the first is the default.
        description: definition, shown to users.
        source: publication of its algorithms.
        sliced: whether a vector may be divided into slices that are processed concurrently.

    Examples:
        >>> isinstance(AllReduce(), Collective)
        True
        >>> list(AllReduce.algorithms)
        ['ring', 'recursive-doubling', 'rabenseifner', 'tree']
    """

    algorithms: Mapping[str, Algorithm]
    description: str
    source: str
    sliced: bool

    def granule(self, ranks: int) -> int:
        """Returns the granule: message sizes are multiples of this number of bytes.

        Args:
            ranks: n, the number of ranks, at least 2.

        Returns:
            A number of bytes, a multiple of the size of an element.
        """

    def bus_factor(self, ranks: int) -> float:
        """Returns the ratio of bus bandwidth to algorithm bandwidth.

        Algorithm bandwidth is message size over time. Bus bandwidth does not depend on the number of ranks
        and can be compared with the links' bandwidth.

        Args:
            ranks: n, the number of ranks, at least 2.

        Returns:
            The factor, at most 2.

        Source:
            NVIDIA's nccl-tests, doc/PERFORMANCE.md.
        """

    def vector_elements(self, message_bytes: int) -> int:
        """Returns the length of a rank's vector.

        Args:
            message_bytes: the size of the message in bytes, a multiple of `granule(ranks)`.

        Returns:
            Number of uint32 elements (4 bytes each) per rank; may exceed the elements of the message.
        """

    def initial_vectors(self, ranks: int, elements: int, seed: int) -> list[Elements]:
        """Returns the ranks' initial vectors: random elements, different for every rank.

        Args:
            ranks: the number of ranks, at least 2.
            elements: the length of a vector, as returned by `vector_elements`.
            seed: seed of the random generator, at least 0.

        Returns:
            A vector of `elements` uint32 for every rank.
        """

    def expected_results(self, vectors: list[Elements]) -> list[Elements]:
        """Returns the correct result of every rank.

        Args:
            vectors: the initial vector of every rank.

        Returns:
            For every rank, the elements that `result_part` must return at the end.
        """

    def result_part(self, vector: Elements) -> Elements:
        """Returns the part of a rank's final vector that is its result.

        Args:
            vector: the rank's whole vector.

        Returns:
            The vector, or a view of a part of it.
        """


class AllReduce:
    """Every rank ends with the sum of all ranks' vectors; the message is the vector.

    Examples:
        >>> import numpy as np
        >>> vectors = [np.array([1, 2], np.uint32), np.array([3, 4], np.uint32)]
        >>> [result.tolist() for result in AllReduce().expected_results(vectors)]
        [[4, 6], [4, 6]]
        >>> AllReduce().bus_factor(4)
        1.5
    """

    algorithms: Mapping[str, Algorithm] = {
        "ring": ring,
        "recursive-doubling": recursive_doubling,
        "rabenseifner": rabenseifner,
        "tree": binary_tree,
    }
    description = "every rank ends with the sum of all ranks' vectors"
    source = "Thakur et al., IJHPCA 2005; tree: SST"
    sliced = True

    def granule(self, _ranks: int) -> int:
        """Returns the size of an element in bytes."""
        return ELEMENT.itemsize

    def bus_factor(self, ranks: int) -> float:
        """Returns 2 (n - 1) / n."""
        return 2 * (ranks - 1) / ranks

    def vector_elements(self, message_bytes: int) -> int:
        """Returns the number of elements of the message."""
        return message_bytes // ELEMENT.itemsize

    def initial_vectors(self, ranks: int, elements: int, seed: int) -> list[Elements]:
        """Returns vectors of random elements.

        Args:
            ranks: the number of ranks, at least 2.
            elements: the length of a vector.
            seed: seed of the random generator, at least 0.

        Returns:
            A vector of `elements` uint32 for every rank.
        """
        return [_random_elements(seed, rank, elements) for rank in range(ranks)]

    def expected_results(self, vectors: list[Elements]) -> list[Elements]:
        """Returns the sum of all vectors, modulo 2^32, for every rank."""
        total = np.zeros_like(vectors[0])
        for vector in vectors:
            total += vector
        return [total] * len(vectors)

    def result_part(self, vector: Elements) -> Elements:
        """Returns the whole vector."""
        return vector


class AllToAll:
    """Part j of rank i's message goes to rank j, where it becomes part i of the result.

    The first half of a vector is the rank's message, the second half the parts that it receives.

    Examples:
        >>> import numpy as np
        >>> vectors = [np.array([1, 2, 0, 0], np.uint32), np.array([3, 4, 0, 0], np.uint32)]
        >>> [result.tolist() for result in AllToAll().expected_results(vectors)]
        [[1, 3], [2, 4]]
        >>> AllToAll().bus_factor(4)
        0.75
    """

    algorithms: Mapping[str, Algorithm] = {"pairwise": pairwise}
    description = "every rank sends a different part of its message to every other rank"
    source = "Thakur et al., IJHPCA 2005, section 4.3"
    sliced = False

    def granule(self, ranks: int) -> int:
        """Returns the size in bytes of a message with one element for every rank."""
        return ELEMENT.itemsize * ranks

    def bus_factor(self, ranks: int) -> float:
        """Returns (n - 1) / n."""
        return (ranks - 1) / ranks

    def vector_elements(self, message_bytes: int) -> int:
        """Returns twice the number of elements of the message."""
        return 2 * (message_bytes // ELEMENT.itemsize)

    def initial_vectors(self, ranks: int, elements: int, seed: int) -> list[Elements]:
        """Returns random messages, with each rank's part for itself copied to the received half.

        Args:
            ranks: the number of ranks, at least 2.
            elements: the length of a vector, including message and received half.
            seed: seed of the random generator, at least 0.

        Returns:
            A vector of `elements` uint32 for every rank.
        """
        half = elements // 2
        vectors = []
        for rank, part in enumerate(split_evenly(half, ranks)):
            vector = np.zeros(elements, ELEMENT)
            vector[:half] = _random_elements(seed, rank, half)
            vector[half + part.begin : half + part.end] = vector[part.begin : part.end]
            vectors.append(vector)
        return vectors

    def expected_results(self, vectors: list[Elements]) -> list[Elements]:
        """Returns, for rank i, part i of every rank's message in the order of the ranks."""
        parts = split_evenly(len(vectors[0]) // 2, len(vectors))
        return [np.concatenate([vector[part.begin : part.end] for vector in vectors]) for part in parts]

    def result_part(self, vector: Elements) -> Elements:
        """Returns the received half."""
        return vector[len(vector) // 2 :]


def _random_elements(seed: int, rank: int, count: int) -> Elements:
    return np.random.default_rng([seed, rank]).integers(0, 1 << 32, count, ELEMENT)

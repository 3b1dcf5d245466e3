"""Specification of a collective operation: algorithm, ranks, message sizes and iterations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.spec.fabric import FabricOptions
from experiments.spec.settings import TrafficSettings
from experiments.spec.values import check_range, words_of
from topology.errors import ParameterError
from topology.faults import Fault
from topology.files.escaping import quoted
from topology.units import BYTES, number_of
from traffic.wire.layout import ETHERNET_BYTES
from traffic.wire.segment_codec import SEGMENT_BYTES
from traffic.workload.applications import default_ranks, make_application
from traffic.workload.collectives.algorithms import programs_of
from traffic.workload.collectives.operations import ELEMENT
from traffic.workload.collectives.registry import COLLECTIVES, check_message, split_collective
from traffic.workload.placement import place_ranks

if TYPE_CHECKING:
    from experiments.spec.experiment import Experiment

DEFAULT_SIZES = "64KiB,256KiB,1MiB"
_MAX_ITERATION_BYTES = 2 << 30  # memory limit of one iteration
_MAX_MESSAGE_BYTES = 10**12


@dataclass(frozen=True)
class CollectiveOptions:
    """The collective operation to run.

    Attributes:
        pattern: name of the collective with its algorithm, such as `allreduce:ring`.
        ranks: number of ranks, from 2 to the number of hosts.
        placement: assignment of ranks to hosts.
        message_bytes: message sizes.
        iterations, warmup_iterations: measured iterations of each size, and iterations before them.
        slices: number of slices of a vector that are processed in parallel.
        frame_bytes: length of the longest frame in bytes, without FCS.
        flows: number of source ports per host pair.
        seed: seed of the random generator.
        faults: failures and restorations during the operation.
    """

    pattern: str
    ranks: int
    placement: str
    message_bytes: tuple[int, ...]
    iterations: int
    warmup_iterations: int
    slices: int
    frame_bytes: int
    flows: int
    seed: int
    faults: tuple[Fault, ...] = ()

    def settings(self) -> TrafficSettings:
        """Returns the collective's settings in the form that results record."""
        return TrafficSettings(**{**vars(self), "faults": tuple(fault.line for fault in self.faults)})


def check_collective(collective: CollectiveOptions, fabric: FabricOptions) -> None:
    """Raises UsageError if the fabric cannot run the collective or an iteration needs too much memory."""
    name, algorithm = split_collective(collective.pattern)
    ranks = collective.ranks
    check_range("slices", collective.slices, 1, 64 if COLLECTIVES[name].sliced else 1)
    place_ranks(collective.placement, ranks, fabric.topology, fabric.hosts, collective.seed)
    for size in collective.message_bytes:
        check_message(name, ranks, size)
        if _memory_bytes(name, algorithm, ranks, size) > _MAX_ITERATION_BYTES:
            raise ParameterError(
                f"memory of an iteration must be at most {_MAX_ITERATION_BYTES >> 20} MiB, got more with "
                f"{ranks} ranks and messages of {size} bytes; choose smaller --message-bytes or fewer --ranks"
            )
    longest = fabric.links.mtu + ETHERNET_BYTES
    check_range("frame-bytes", collective.frame_bytes, SEGMENT_BYTES + 32, longest)


def default_slices(_experiment: object, values: Mapping[str, Any]) -> int:
    """Returns the default number of slices: 2 for collectives that can be sliced, otherwise 1.

    Args:
        values: option -> value.
    """
    collective = COLLECTIVES.get(str(values["pattern"]).partition(":")[0])
    return 2 if collective and collective.sliced else 1


def default_sizes(_experiment: object, values: Mapping[str, Any]) -> str:
    """Returns the default message sizes: the sizes nearest to DEFAULT_SIZES that the application allows.

    Args:
        values: option -> value.
    """
    ranks = max(2, values["ranks"])  # fewer ranks are rejected later, with the whole experiment
    granule = make_application(values["pattern"], ranks).granule
    sizes = (max(1, round(size / granule)) * granule for size in parse_sizes(DEFAULT_SIZES))
    return ",".join(map(str, dict.fromkeys(sizes)))


def parse_sizes(text: str) -> tuple[int, ...]:
    """Returns the distinct sizes in bytes of a list like `64KiB,1MiB`, in its order.

    Raises:
        ParameterError: the text is malformed.
    """
    return tuple(dict.fromkeys(map(_parse_bytes, words_of("message-bytes", text))))


def _parse_bytes(text: str) -> int:
    size = number_of("message-bytes", text, BYTES)
    if size is None or size % 1 or size > _MAX_MESSAGE_BYTES:
        raise ParameterError(f"message-bytes must be like 4096, 64KiB or 1MB, got {quoted(text)}")
    return int(size)


def _memory_bytes(name: str, algorithm: str, ranks: int, message_bytes: int) -> int:
    """Returns the memory that an iteration needs, in bytes.

    The memory holds the ranks' vectors, the expected results, and a copy of all sent data.
    """
    collective = COLLECTIVES[name]
    elements = collective.vector_elements(message_bytes)
    programs = programs_of(collective.algorithms[algorithm], ranks, ranks, elements)
    sent = sum(step.send_span.length for program in programs for step in program)
    return (3 * ranks * elements + sent) * ELEMENT.itemsize


def all_ranks(experiment: Experiment, values: Mapping[str, Any]) -> int:
    """Returns the default number of ranks: as many hosts as the application can use.

    Args:
        experiment: the experiment.
        values: option -> value, including the pattern and the hosts per router.
    """
    endpoints = experiment.topology.endpoints(int(values["hosts"]))
    return default_ranks(str(values["pattern"]), endpoints)

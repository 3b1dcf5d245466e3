"""The options of collectives, checked once and kept as plain data."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from typing import Any

from experiments.spec.fabric import FabricOptions
from experiments.spec.traffic import read_faults
from experiments.spec.values import check_range, check_seed, words_of
from topology.errors import ParameterError, UsageError
from topology.faults import Fault
from traffic.wire.layout import ETHERNET_BYTES, MAX_FLOWS
from traffic.wire.segment_codec import SEGMENT_BYTES
from traffic.workload.collectives.operations import COLLECTIVES, ELEMENT, check_message, split_collective
from traffic.workload.placement import PLACEMENTS, place_ranks

# What an iteration may take of memory.
_MOST_BYTES = 2 << 30
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "kib": 1 << 10, "m": 1 << 20, "mib": 1 << 20}
# Options that patterns have and collectives do not, and the other way around, by their attributes.
PATTERN_ONLY = ("load", "duration", "warmup", "arrivals")
COLLECTIVE_ONLY = ("ranks", "message_bytes", "iterations", "warmup_iterations", "placement", "slices")


@dataclass(frozen=True)
class CollectiveOptions:
    """Which collective to run.

    Attributes:
        pattern: its name, with the algorithm.
        ranks: how many.
        placement: how ranks are assigned to hosts.
        message_bytes: the sizes.
        iterations, warmup_iterations: of each size, those that count and those before.
        slices: in how many parts, side by side, a vector is worked on.
        frame_bytes: the length of the longest frame, without FCS.
        flows: source ports per host pair.
        seed: of all random choices.
        faults: what breaks and comes back meanwhile.
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

    def settings(self) -> dict[str, Any]:
        """Returns the same as plain data."""
        return {**vars(self), "faults": [fault.line for fault in self.faults]}


def add_collective_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what collectives have beside what all traffic has."""
    group = parser.add_argument_group("collectives (--pattern allreduce[:ALGORITHM], all-to-all)")
    group.add_argument("--ranks", type=int, help="how many take part (default all hosts)")
    group.add_argument(
        "--placement", help=f"of ranks on hosts: {', '.join(PLACEMENTS)}, random:SEED (default linear)"
    )
    group.add_argument(
        "--message-bytes", metavar="LIST", help="one or more, as 64KiB,1MiB (default 64KiB,256KiB,1MiB)"
    )
    group.add_argument("--iterations", type=int, help="that count, of each size (default 5)")
    group.add_argument("--warmup-iterations", type=int, help="that come before (default 1)")
    group.add_argument(
        "--slices",
        type=int,
        help="parts of an allreduce's vector that are worked on side by side (default 2)",
    )


def read_collective(arguments: argparse.Namespace, fabric: FabricOptions) -> CollectiveOptions:
    """Returns the checked options of a collective.

    Raises:
        UsageError: an option is outside its domain, or not one of collectives.
    """
    name, algorithm = split_collective(arguments.pattern)
    if arguments.repeat is not None:
        raise UsageError("collectives have --iterations, not --repeat")
    for option in PATTERN_ONLY:
        if getattr(arguments, option) is not None:
            raise UsageError(f"--{option} is not for collectives, which send as fast as they can")
    if fabric.calibrate:
        raise UsageError("--link-rate auto is not for collectives; give a rate")
    check_range("--flows", arguments.flows, 1, MAX_FLOWS)
    check_seed(arguments.seed)
    hosts = fabric.topology.routers * fabric.hosts
    ranks = hosts if arguments.ranks is None else arguments.ranks
    placement = arguments.placement or "linear"
    place_ranks(placement, ranks, fabric.topology, fabric.hosts, arguments.seed)
    sizes = tuple(map(_bytes, words_of("--message-bytes", arguments.message_bytes or "64KiB,256KiB,1MiB")))
    if arguments.message_bytes is None:  # the nearest that the collective can have
        granule = COLLECTIVES[name].granule(ranks)
        sizes = tuple(max(1, round(size / granule)) * granule for size in sizes)
    sizes = tuple(dict.fromkeys(sizes))
    for size in sizes:
        check_message(name, ranks, size)
        if _bytes_taken(name, algorithm, ranks, size) > _MOST_BYTES:
            raise ParameterError(
                f"{ranks} ranks' messages of {size} bytes take over {_MOST_BYTES >> 20} MiB of memory"
            )
    iterations = _or(arguments.iterations, 5)
    check_range("--iterations", iterations, 1, 100_000)
    warmup_iterations = _or(arguments.warmup_iterations, 1)
    check_range("--warmup-iterations", warmup_iterations, 0, 1000)
    slices = _or(arguments.slices, 1 if name == "all-to-all" else 2)
    check_range("--slices", slices, 1, 1 if name == "all-to-all" else 64)
    longest = fabric.links.mtu + ETHERNET_BYTES
    frame_bytes = _or(arguments.frame_bytes, longest)
    check_range("--frame-bytes", frame_bytes, SEGMENT_BYTES + 32, longest)
    return CollectiveOptions(
        f"{name}:{algorithm}",
        ranks,
        placement,
        sizes,
        iterations,
        warmup_iterations,
        slices,
        frame_bytes,
        arguments.flows,
        arguments.seed,
        read_faults(arguments.faults, fabric.topology, arguments.seed, float("inf")),
    )


def _bytes_taken(name: str, algorithm: str, ranks: int, message_bytes: int) -> int:
    """Returns an iteration's memory: vectors and their right results, and a copy of all that is sent."""
    collective = COLLECTIVES[name]
    elements = collective.vector_elements(message_bytes)
    programs = collective.algorithms[algorithm](ranks, elements)
    sent = sum(step.send_span.length for program in programs for step in program)
    return (3 * ranks * elements + sent) * ELEMENT.itemsize


def refuse_collective_options(arguments: argparse.Namespace) -> None:
    """Raises UsageError if an option of collectives was given for a pattern."""
    for option in COLLECTIVE_ONLY:
        if getattr(arguments, option, None) is not None:
            raise UsageError(
                f"--{option.replace('_', '-')} is for collectives: {', '.join(COLLECTIVES)}, "
                f"not for {arguments.pattern}"
            )


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _bytes(text: str) -> int:
    match = re.fullmatch(r"(\d{1,12})\s*([a-zA-Z]*)", text)
    if not match or match[2].lower() not in _UNITS:
        raise ParameterError(f"--message-bytes must be like 4096, 64KiB or 1MiB, got {text!r}")
    return int(match[1]) * _UNITS[match[2].lower()]

"""Options of collectives: ranks, placement, message sizes and iterations."""

from __future__ import annotations

import argparse

from experiments.spec.collective import (
    DEFAULT_ITERATIONS,
    DEFAULT_PLACEMENT,
    DEFAULT_SIZES,
    DEFAULT_WARMUP_ITERATIONS,
    CollectiveOptions,
    check_collective,
    default_message_bytes,
    default_slices,
    parse_sizes,
)
from experiments.spec.fabric import FabricOptions
from experiments.spec.traffic import DEFAULT_FLOWS
from polarlab.cli.options.traffic import read_faults, value_or
from topology.errors import UsageError
from traffic.wire.layout import ETHERNET_BYTES
from traffic.workload.collectives.operations import COLLECTIVES, split_collective
from traffic.workload.placement import PLACEMENTS

# By their attributes in the parsed arguments; all are None where they were not given.
_PATTERNS_ONLY = ("load", "duration", "warmup", "arrivals", "repeat")
_COLLECTIVES_ONLY = ("ranks", "message_bytes", "iterations", "warmup_iterations", "placement", "slices")


def add_collective_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that only collectives have."""
    group = parser.add_argument_group("collectives (--pattern allreduce[:ALGORITHM], all-to-all)")
    group.add_argument("--ranks", type=int, metavar="N", help="number of ranks (default all hosts)")
    group.add_argument(
        "--placement",
        help=f"assignment of ranks to hosts: {', '.join(PLACEMENTS)}, random:SEED "
        f"(default {DEFAULT_PLACEMENT})",
    )
    group.add_argument(
        "--message-bytes",
        metavar="LIST",
        help=f"message sizes, in bytes, as 64KiB,1MiB (default {DEFAULT_SIZES})",
    )
    group.add_argument(
        "--iterations",
        type=int,
        metavar="N",
        help=f"measured iterations of each size (default {DEFAULT_ITERATIONS})",
    )
    group.add_argument(
        "--warmup-iterations",
        type=int,
        metavar="N",
        help=f"iterations of each size before the measured ones (default {DEFAULT_WARMUP_ITERATIONS})",
    )
    group.add_argument(
        "--slices",
        type=int,
        metavar="N",
        help="slices of an allreduce's vector that are worked on side by side (default 2)",
    )


def read_collective(arguments: argparse.Namespace, fabric: FabricOptions) -> CollectiveOptions:
    """Returns the specification of a collective on a fabric.

    Raises:
        UsageError: an option is outside its domain, or not one of collectives.
    """
    for option in _PATTERNS_ONLY:
        if getattr(arguments, option) is not None:
            raise UsageError(f"--{option} is not for collectives, which have --iterations")
    name, algorithm = split_collective(arguments.pattern)
    ranks = value_or(arguments.ranks, fabric.topology.endpoints(fabric.hosts))
    sizes = arguments.message_bytes
    collective = CollectiveOptions(
        f"{name}:{algorithm}",
        ranks,
        value_or(arguments.placement, DEFAULT_PLACEMENT),
        default_message_bytes(name, ranks) if sizes is None else parse_sizes(sizes),
        value_or(arguments.iterations, DEFAULT_ITERATIONS),
        value_or(arguments.warmup_iterations, DEFAULT_WARMUP_ITERATIONS),
        value_or(arguments.slices, default_slices(name)),
        value_or(arguments.frame_bytes, fabric.links.mtu + ETHERNET_BYTES),
        value_or(arguments.flows, DEFAULT_FLOWS),
        arguments.seed,
        read_faults(arguments, fabric.topology, float("inf")),
    )
    check_collective(collective, fabric)
    return collective


def refuse_collective_options(arguments: argparse.Namespace) -> None:
    """Raises UsageError if an option of collectives was given for a pattern."""
    for option in _COLLECTIVES_ONLY:
        if getattr(arguments, option) is not None:
            raise UsageError(
                f"--{option.replace('_', '-')} is for collectives ({', '.join(COLLECTIVES)}), "
                f"got --pattern {arguments.pattern}"
            )

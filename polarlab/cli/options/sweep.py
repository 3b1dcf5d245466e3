"""Options of sweeps: routings, patterns and loads."""

from __future__ import annotations

import argparse

from experiments.spec.sweep import SweepOptions, parse_loads
from experiments.spec.values import words_of
from polarlab.cli.options.traffic import add_packet_options, add_seed_option, value_or
from routing.registry import ROUTINGS

_ROUTINGS, _PATTERNS, _LOADS = "min,ugal-pf", "uniform,tornado", "0.1:0.9:0.2"


def add_sweep_options(parser: argparse.ArgumentParser) -> None:
    """Adds the lists of a sweep, instead of one routing, pattern and load, and its packets."""
    parser.add_argument(
        "--routings",
        default=_ROUTINGS,
        metavar="LIST",
        help=f"routing algorithms, of {', '.join(ROUTINGS)} (default {_ROUTINGS})",
    )
    parser.add_argument(
        "--patterns",
        default=_PATTERNS,
        metavar="LIST",
        help=f"traffic patterns, of `polarlab patterns` (default {_PATTERNS})",
    )
    parser.add_argument(
        "--loads",
        default=_LOADS,
        metavar="LIST",
        help=f"offered loads, as 0.1,0.5 or FIRST:LAST:STEP (default {_LOADS})",
    )
    add_seed_option(parser)
    add_packet_options(parser)


def read_sweep(arguments: argparse.Namespace) -> SweepOptions:
    """Returns the specification of a sweep; raises UsageError if an option is outside its domain."""
    return SweepOptions(
        words_of("routings", arguments.routings),
        words_of("patterns", arguments.patterns),
        parse_loads(arguments.loads),
        value_or(arguments.repeat, 1),
    )

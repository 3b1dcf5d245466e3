"""Options of TCP flows: sizes, a file of flows, congestion control, and the time to complete them."""

from __future__ import annotations

import argparse
import math

from experiments.spec.fabric import FabricOptions
from experiments.spec.flows import (
    DEFAULT_DRAIN_S,
    REPLAY,
    FlowOptions,
    check_flows,
    flow_frame_bytes,
)
from experiments.spec.traffic import DEFAULT_DURATION_S, DEFAULT_LOAD, DEFAULT_PATTERN, DEFAULT_WARMUP
from experiments.spec.values import check_range
from polarlab.cli.options.traffic import faults_asked, read_faults, value_or
from topology.errors import ParameterError, UsageError
from traffic.engine.flows.tcp import default_congestion_control
from traffic.workload.collectives.operations import is_collective
from traffic.workload.flows.flow_list import read_flows

# By their attributes in the parsed arguments; all are None where they were not given.
_PACKETS_ONLY = (
    *("frame_bytes", "arrivals", "ranks", "placement", "message_bytes", "iterations", "warmup_iterations"),
    *("slices", "flows"),
)
_NOT_OF_A_FILE = ("pattern", "load", "duration", "warmup")
_FLOWS_ONLY = ("flow_size_limit", "tcp", "drain")


def add_flow_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that only TCP flows have."""
    group = parser.add_argument_group("TCP flows (--flow-sizes or --flow-file; docs/flows.md)")
    group.add_argument(
        "--flow-sizes",
        metavar="SIZES",
        help="distribution of the sizes of TCP flows: web-search, data-mining, fixed:BYTES or a CSV file "
        "(default no flows)",
    )
    group.add_argument(
        "--flow-file",
        metavar="FILE",
        help="TCP flows to replay, a CSV file: time_s,source,destination,bytes (default none)",
    )
    group.add_argument(
        "--flow-size-limit",
        type=int,
        metavar="BYTES",
        help="size to which larger flows are cut, in bytes (default none)",
    )
    group.add_argument(
        "--tcp",
        metavar="NAME",
        help="congestion control of the flows, of those that the kernel has (default the kernel's)",
    )
    group.add_argument(
        "--drain",
        type=float,
        metavar="S",
        help="time after the last flow's start in which flows may be completed, in s "
        f"(default {DEFAULT_DRAIN_S:g})",
    )


def asks_for_flows(arguments: argparse.Namespace) -> bool:
    """Returns whether TCP flows are asked for; raises UsageError if an option of flows stands alone."""
    if arguments.flow_sizes is not None or arguments.flow_file is not None:
        return True
    for option in _FLOWS_ONLY:
        if getattr(arguments, option) is not None:
            name = option.replace("_", "-")
            raise UsageError(f"--{name} is for TCP flows; give --flow-sizes or --flow-file, too")
    return False


def read_flow_options(arguments: argparse.Namespace, fabric: FabricOptions) -> FlowOptions:
    """Returns the specification of TCP flows on a fabric.

    Raises:
        UsageError: an option is outside its domain, or not one of flows.
        MachineError: the kernel does not have the congestion control.
    """
    pattern = value_or(arguments.pattern, DEFAULT_PATTERN)
    _refuse_options_of_others(arguments, pattern)
    replayed = arguments.flow_file is not None
    if replayed:
        last_ns = int(read_flows(arguments.flow_file, fabric.topology, fabric.hosts).time_ns[-1])
        warmup_s, duration_s = 0.0, max(1.0, math.ceil(last_ns / 1e9 + 1e-3))
    else:
        warmup_s = _seconds(value_or(arguments.warmup, DEFAULT_WARMUP))
        duration_s = value_or(arguments.duration, DEFAULT_DURATION_S)
    drain_s = value_or(arguments.drain, DEFAULT_DRAIN_S)
    check_range("drain", drain_s, 0, 3_600, "s")
    flows = FlowOptions(
        REPLAY if replayed else pattern,
        None if replayed else value_or(arguments.load, DEFAULT_LOAD),
        arguments.flow_sizes,
        arguments.flow_size_limit,
        arguments.flow_file,
        value_or(arguments.tcp, default_congestion_control()),
        warmup_s,
        duration_s,
        drain_s,
        flow_frame_bytes(fabric),
        arguments.seed,
        read_faults(arguments, fabric.topology, warmup_s + duration_s + drain_s),
        faults_asked(arguments),
    )
    check_flows(flows, fabric)
    return flows


def _refuse_options_of_others(arguments: argparse.Namespace, pattern: str) -> None:
    if arguments.flow_sizes is not None and arguments.flow_file is not None:
        raise UsageError("--flow-sizes and --flow-file exclude each other; give one of them")
    if is_collective(pattern):
        raise UsageError(f"pattern of flows must be one of `polarlab patterns`, got {pattern}")
    refused = _PACKETS_ONLY + (_NOT_OF_A_FILE if arguments.flow_file is not None else ())
    for option in refused:
        if getattr(arguments, option) is not None:
            kind = (
                "a file of flows, which has all hosts and times" if option in _NOT_OF_A_FILE else "TCP flows"
            )
            raise UsageError(f"--{option.replace('_', '-')} is not for {kind}; leave it out")


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"warmup of flows must be seconds, got {text!r}") from None

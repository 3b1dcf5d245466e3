"""The `polarlab` command: what can be asked for."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, NoReturn

from experiments.errors import Status
from polarlab.cli.commands import demo as demo_command
from polarlab.cli.commands import fabric as fabric_commands
from polarlab.cli.commands import machine as machine_commands
from polarlab.cli.commands import results as result_commands
from polarlab.cli.commands import theory as theory_commands
from polarlab.cli.console import add_json
from topology.errors import UsageError


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line with the status for wrong use."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see `{self.prog} --help`)")


def run(arguments: Sequence[str]) -> Status:
    """Parses a command line and does what it says."""
    parser = _parser()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks what could come next
        from polarlab.cli.completion import complete

        complete(parser)
    parsed, unknown = parser.parse_known_args(arguments)
    if unknown:  # what follows an unknown option may be its value, or have been meant for something else
        options = [word for word in unknown if word.startswith("-")]
        parsed.parser.error(f"unrecognized arguments: {' '.join(options or unknown)}")
    command: Callable[[argparse.Namespace], Status] = parsed.command
    return command(parsed)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="polarlab",
        description="Launches low-diameter networks as real emulated fabrics and measures them.",
        epilog=_epilog(command.examples[0] for command in _COMMANDS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="subcommand", required=True, metavar="COMMAND")
    for command in _COMMANDS:
        subparser = commands.add_parser(
            command.name,
            help=command.summary,
            description=command.summary,
            epilog=_epilog(command.examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(subparser)
        subparser.set_defaults(command=command.run, parser=subparser)
    return parser


def _epilog(examples: Iterable[str]) -> str:
    return "examples:\n" + "\n".join(f"  {line}" for line in examples)


class _Command(NamedTuple):
    name: str
    summary: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], Status]
    examples: Sequence[str]


_COMMANDS = (
    _Command(
        "topology",
        "a graph: its sizes, degrees and diameter",
        theory_commands.topology_arguments,
        theory_commands.topology,
        (
            "polarlab topology polarfly --q 7",
            "polarlab topology --list",
            "polarlab topology polarstar --radix 15 --designs",
            "polarlab topology polarfly --q 7 --export graphml er7.graphml",
            "polarlab topology slimfly --q 5 --figure slimfly.png",
        ),
    ),
    _Command(
        "verify",
        "prove a routing's rules for every pair of hosts",
        theory_commands.verify_arguments,
        theory_commands.verify,
        (
            "polarlab verify polarfly --q 5 --hosts 2",
            "polarlab verify polarfly --q 7 --routing ugal-pf --failures links",
            "polarlab verify graph --from examples/torus-3x3.edges --failures switches",
        ),
    ),
    _Command(
        "predict",
        "accepted fraction and link loads by a fluid model",
        theory_commands.predict_arguments,
        theory_commands.predict,
        (
            "polarlab predict polarfly --q 5 --hosts 3 --pattern tornado --load 1",
            "polarlab predict polarfly --q 5 --routing valiant --pattern random-permutation:7 --json",
        ),
    ),
    _Command(
        "patterns",
        "who may send to whom: all patterns, with definition and source",
        theory_commands.patterns_arguments,
        theory_commands.patterns,
        (
            "polarlab patterns",
            "polarlab patterns --json",
        ),
    ),
    _Command(
        "explain",
        "which way packets go between two switches, and why, in words",
        theory_commands.explain_arguments,
        theory_commands.explain,
        (
            "polarlab explain polarfly --q 7 s3 s17",
            "polarlab explain polarfly --q 5 --routing ugal-pf s3 s17",
        ),
    ),
    _Command(
        "rules",
        "what a switch will hold, readable",
        theory_commands.rules_arguments,
        theory_commands.rules,
        (
            "polarlab rules polarfly --q 3 --routing ugal-pf s3",
            "polarlab rules polarfly --q 3 --without link:s1-s10 s1",
        ),
    ),
    _Command(
        "up",
        "launch a fabric and open Mininet's prompt on it (root)",
        fabric_commands.up_arguments,
        fabric_commands.up,
        (
            'sudo polarlab up polarfly --q 3 --exec "h1_1 ping -c 3 h5_1"',
            "sudo polarlab up polarfly --q 3",
            "sudo polarlab up polarstar --q 2 --supernode iq --degree 3 --link-rate 10Mbit",
            'sudo polarlab up polarfly --q 3 --link-delay 5 --link-loss 0.01 --exec "h1_1 ping -c 9 h5_1"',
        ),
    ),
    _Command(
        "run",
        "launch a fabric, run traffic over it and measure it (root)",
        fabric_commands.run_arguments,
        fabric_commands.run,
        (
            "sudo polarlab run polarfly --q 5 --hosts 2 --link-rate 500kbit --load 0.3 --duration 10",
            "sudo polarlab run polarfly --q 3 --link-rate auto --pattern tornado --warmup steady",
            "sudo polarlab run polarfly --q 3 --load 0.5 --repeat 5",
            "sudo polarlab run polarfly --q 3 --pattern allreduce:ring --ranks 8 --message-bytes 64KiB,1MiB",
        ),
    ),
    _Command(
        "sweep",
        "measure loads x patterns x routings on one fabric, resumable (root)",
        fabric_commands.sweep_arguments,
        fabric_commands.sweep,
        (
            "sudo polarlab sweep polarfly --q 5 --hosts 3 --patterns uniform,tornado --loads 0.1:0.9:0.2",
            "sudo polarlab sweep polarstar --q 2 --supernode iq --degree 3 --routings min,ugal",
        ),
    ),
    _Command(
        "demo",
        "failover: something breaks under probes and comes back, and what that costs (root)",
        demo_command.arguments,
        demo_command.demo,
        (
            "sudo polarlab demo failover polarfly --q 5 --fail link:s1-s28",
            "sudo polarlab demo failover polarfly --q 3 --fail switch:s4",
            "sudo polarlab demo failover polarfly --q 3 --kill-controller",
        ),
    ),
    _Command(
        "plot",
        "draw the figures of a run, a sweep or a failover",
        result_commands.plot_arguments,
        result_commands.plot,
        ("polarlab plot results/RUN",),
    ),
    _Command(
        "report",
        "one page of HTML with all of a sweep, or of a run",
        result_commands.report_arguments,
        result_commands.report,
        (
            "polarlab report results/SWEEP",
            "polarlab report results/RUN --out run.html",
        ),
    ),
    _Command(
        "compare",
        "runs side by side: in what they differ, and what came of it",
        result_commands.compare_arguments,
        result_commands.compare,
        (
            "polarlab compare results/RUN results/OTHER",
            "polarlab compare results/RUN results/OTHER --figure both.png",
        ),
    ),
    _Command(
        "doctor",
        "what this machine has and lacks, and how large a fabric it can carry",
        add_json,
        machine_commands.doctor,
        (
            "sudo polarlab doctor",
            "polarlab doctor --json",
        ),
    ),
    _Command(
        "clean",
        "remove what a crashed fabric left behind, and only that (root)",
        add_json,
        machine_commands.clean,
        ("sudo polarlab clean",),
    ),
)

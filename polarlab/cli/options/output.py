"""Options of output: JSON, the exit status of results that are not valid, and the directory of results."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from topology.exit_status import Status


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Adds --json."""
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def add_pcap_option(parser: argparse.ArgumentParser) -> None:
    """Adds --pcap."""
    parser.add_argument(
        "--pcap",
        action="append",
        default=[],
        metavar="LIST",
        help="places to capture packets at: hosts as h1_1, ports of switches as s5-eth3 or s5:3, both ends "
        "of links as link:s1-s7 (default none)",
    )


def add_strict_option(parser: argparse.ArgumentParser) -> None:
    """Adds --strict."""
    parser.add_argument("--strict", action="store_true", help="exit status 1 if a result is not valid")


def add_out_option(
    parser: argparse.ArgumentParser, more: str = "", default: str = "a new one in results/"
) -> None:
    """Adds --out.

    Args:
        parser: the command's parser.
        more: what is special about the directory, for the help.
        default: the directory where none is given, in words.
    """
    from experiments.spec.values import output_path

    parser.add_argument(
        "--out",
        type=output_path,
        metavar="DIR",
        help=f"output directory{more} (default {default})",
    )


def dated_directory(*words: object) -> Path:
    """Returns the path of a new output directory: some words, and the date and time."""
    from experiments.spec.values import DEFAULT_RESULTS, plain_name

    return DEFAULT_RESULTS / plain_name(*words, time.strftime("%Y%m%d-%H%M%S"))


def strict_status(arguments: argparse.Namespace, valid: bool) -> Status:
    """Returns NEGATIVE under --strict if a result is not valid, else DONE."""
    return Status.NEGATIVE if arguments.strict and not valid else Status.DONE

"""Collectives as users run them: what is told and kept, with losses, deaths and wrong options."""

import contextlib
import csv
import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import (
    KIB,
    TIMEOUT_S,
    collective_options,
    complete_collective,
    completed,
    er_options,
    one_line,
    polarlab,
    settle,
    start_polarlab,
    wait_for_line,
)

from experiments.events.base import ignore
from experiments.live_fabric import live_fabric
from experiments.results.collective import collective_troubles
from topology.links import LinkSpec


def table(path):
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.mark.tried_again
def test_results_are_right_though_packets_are_lost():
    """Many ranks' messages share links whose queues hold four packets."""
    spec = LinkSpec(10_000_000, 4)
    with live_fabric(replace(er_options(2, hosts=3), links=spec), ignore) as fabric:
        chosen = collective_options("allreduce:recursive-doubling", 21, (32 * KIB,), placement="random:1")
        outcome = complete_collective(fabric, chosen).outcome
    assert collective_troubles(outcome) == []
    assert outcome.resent > 0
    assert outcome.received.frames.sum() < outcome.sent.frames.sum()


@pytest.mark.tried_again
def test_a_run_prints_and_writes_what_the_collective_came_to(tmp_path, no_leftovers):
    out = tmp_path / "run"
    words = ["run", "polarfly", "--q", "2", "--mtu", "4000", "--pattern", "allreduce:ring", "--ranks", "6"]
    words += ["--message-bytes", "64KiB,4096", "--iterations", "3", "--link-rate", "10Mbit"]
    done = polarlab(*words, "--json", "--out", str(out))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)["collective"]
    assert (told["algorithm"], told["ranks"], told["message_bytes"]) == ("ring", 6, 65536)
    assert told["wrong_results"] == 0
    # No faster than the links, and not much slower.
    min_ms = 2 * 5 / 6 * 65536 * 8 / 10e6 * 1e3
    assert min_ms < told["completion_ms"] < 2 * min_ms
    rows = table(out / "collective.csv")
    assert [row["iteration"] for row in rows] == ["-1", "0", "1", "2"] * 2
    ranks = table(out / "ranks.csv")
    assert {row["host"] for row in ranks} == {f"h{n}_1" for n in range(1, 7)}
    assert (out / "collective.png").stat().st_size > 5000


def test_a_rank_that_dies_is_named_and_what_was_measured_is_kept(tmp_path, no_leftovers):
    out = tmp_path / "run"
    words = ["run", "polarfly", "--q", "2", "--pattern", "allreduce", "--iterations", "1000"]
    process = start_polarlab(*words, "--message-bytes", "8KiB", "--link-rate", "5Mbit", "--out", str(out))
    wait_for_line(process, "ranks, linear placement")
    settle(1)
    os.kill(first_process_of("h3_1"), signal.SIGKILL)
    _, error = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1
    assert "rank 2 (h3_1) died" in one_line(error)
    told = json.loads((out / "summary.json").read_text())
    assert told["collective"]["failed"] == "rank 2 (h3_1) died"
    assert told["collective"]["iterations"] > 0
    assert len(table(out / "collective.csv")) > 1


def first_process_of(host):
    """The process that lives as long as the host; its namespaces have the host's name."""
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if path.joinpath("cmdline").read_bytes() == b"sleep\0infinity\0":
                named = completed(["nsenter", f"--target={path.name}", "--user", "--uts", "hostname"])
                if named.stdout.strip() == host.replace("_", "-"):
                    return int(path.name)
    raise AssertionError(f"there is no {host}")


def test_a_rank_behind_a_dead_switch_is_the_one_that_is_named(tmp_path, no_leftovers):
    faults = tmp_path / "faults"
    faults.write_text("0.5 fail switch:s3\n900 fail switch:s4\n")
    words = ["run", "polarfly", "--q", "2", "--link-rate", "2Mbit", "--pattern", "all-to-all"]
    words += ["--message-bytes", "28000", "--iterations", "40", "--faults", str(faults)]
    done = polarlab(*words, "--out", str(tmp_path / "run"))
    assert done.returncode == 1
    assert "rank 2 (h3_1) is unreachable" in one_line(done.stderr)
    assert "1 of 2 faults" in done.stderr
    assert (tmp_path / "run" / "collective.csv").exists()


def test_a_host_that_dies_before_the_traffic_is_named(tmp_path, no_leftovers):
    words = ["run", "polarfly", "--q", "2", "--pattern", "allreduce", "--out", str(tmp_path / "run")]
    process = start_polarlab(*words)
    wait_for_line(process, "starting 7 Open vSwitches")
    wait_for_line(process, "all switches have installed their rules")
    os.kill(first_process_of("h3_1"), signal.SIGKILL)
    _, error = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1
    assert "h3_1 ended" in one_line(error)

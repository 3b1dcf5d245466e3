"""Experiments from files, and `--again`: the same configuration offers the same packets."""

import csv
import json
import os
import pwd
from collections import Counter

import pytest
from conftest import POLARLAB, completed, polarlab
from support.fixtures.documents import ROOT, blocks, command_lines

pytestmark = pytest.mark.usefixtures("no_leftovers")

FABRIC = ["polarfly", "--q", "2", "--link-rate", "1Mbit"]
SHORT = ["--warmup", "0.5", "--duration", "1"]
# Entries of a manifest that are of its own time; measured again, a default link rate is a given one.
OF_THEIR_TIME = {"started", "machine", "link_rate_from"}


PAGE = blocks(ROOT / "docs" / "how-to" / "experiments.md")


@pytest.mark.slow
def test_every_command_of_the_page_succeeds(tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for line in (line for block in PAGE if block.kind == "sh" for line in command_lines(block)):
        command = line.replace("sudo ", "").replace(".venv/bin/polarlab", POLARLAB)
        done = completed(["bash", "-c", command], cwd=tmp_path)
        assert done.returncode == 0, done.stderr


def rows(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def manifest(folder):
    content = json.loads((folder / "manifest.json").read_text())
    return {name: value for name, value in content.items() if name not in OF_THEIR_TIME}


def sent_bytes(folder):
    """The bytes that each host sent in a whole run."""
    sent = Counter()
    for row in rows(folder / "throughput.csv"):
        sent[row["host"]] += int(row["tx_bytes"])
    return sent


def summary(folder):
    return json.loads((folder / "summary.json").read_text())


@pytest.mark.slow
def test_a_default_link_rate_is_kept(tmp_path):
    """By fewer processors it would be lower, as long as it is not the highest default anyway."""
    first, second = tmp_path / "first", tmp_path / "second"
    words = ["run", "polarfly", "--q", "2", "--hosts", "4", "--load", "0.9", *SHORT, "--json"]
    done = polarlab(*words, "--out", str(first))
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["link_rate_from"] == "rule"
    alone = str(min(os.sched_getaffinity(0)))
    done = completed(["taskset", "-c", alone, POLARLAB, "run", "--again", str(first), "--out", str(second)])
    assert done.returncode == 0, done.stderr
    rates = [summary(folder)["link_rate_bps"] for folder in (first, second)]
    assert rates[0] == rates[1] == manifest(second)["link_rate_bps"]


def measured_twice(tmp_path, command, *words, status_of=lambda _folder: 0):
    """Runs an experiment, and runs it again from its results; returns both folders.

    Args:
        tmp_path: folder of both folders.
        command: the words of the command.
        words: the words of the experiment.
        status_of: returns the exit status that belongs to the results of a folder.
    """
    first, second = tmp_path / "first", tmp_path / "second"
    for arguments in ([*words, "--out", str(first)], ["--again", str(first), "--out", str(second)]):
        done = polarlab(*command, *arguments, "--json")
        folder = second if "--again" in arguments else first
        assert done.returncode == status_of(folder), done.stderr
    return first, second


@pytest.mark.slow
@pytest.mark.tried_again
def test_packets_and_faults_whose_file_is_gone(tmp_path):
    faults = tmp_path / "schedule.txt"
    faults.write_text("0.6 fail link:s1-s5\n1 restore link:s1-s5\n")
    file = tmp_path / "experiment.toml"
    words = [*FABRIC, *SHORT, "--pattern", "random-permutation", "--seed", "7", "--faults", str(faults)]
    file.write_text(polarlab("run", *words, "--print-config").stdout)
    first, second = tmp_path / "first", tmp_path / "second"
    assert polarlab("run", str(file), "--out", str(first)).returncode == 0
    faults.unlink()
    done = polarlab("run", "--again", str(first), "--out", str(second))
    assert done.returncode == 0, done.stderr
    assert sent_bytes(first) == sent_bytes(second)
    assert sum(sent_bytes(first).values()) > 100_000
    one, other = manifest(first), manifest(second)
    for kept in (one, other):
        kept["experiment"]["traffic"].pop("faults")
    assert one == other
    assert (first / "faults.txt").read_text() == (second / "faults.txt").read_text()


@pytest.mark.slow
@pytest.mark.tried_again
def test_a_window_that_was_settled_stays_where_it_was(tmp_path):
    first, second = measured_twice(tmp_path, ["run"], *FABRIC, "--warmup", "steady", "--duration", "1")
    assert manifest(first)["experiment"]["traffic"]["warmup"] == "steady"
    begun_s = json.loads((first / "summary.json").read_text())["warmup_s"]
    assert manifest(second)["experiment"]["traffic"]["warmup"] == begun_s
    assert manifest(second)["traffic"]["warmup_s"] == begun_s


@pytest.mark.slow
@pytest.mark.tried_again
def test_a_collective(tmp_path):
    words = ["--pattern", "allreduce", "--ranks", "4", "--message-bytes", "4KiB", "--iterations", "2"]
    first, second = measured_twice(tmp_path, ["run"], *FABRIC, *words, "--placement", "random")
    assert manifest(first) == manifest(second)
    told = [json.loads((folder / "summary.json").read_text())["collective"] for folder in (first, second)]
    assert told[0]["algorithm"] == told[1]["algorithm"] == "ring"
    assert [size["message_bytes"] for size in told[0]["sizes"]] == [4096]


@pytest.mark.slow
@pytest.mark.tried_again
def test_flows(tmp_path):
    words = ["--flow-sizes", "fixed:20000", "--warmup", "0", "--duration", "1", "--drain", "3"]
    first, second = measured_twice(tmp_path, ["run"], *FABRIC, *words)
    assert manifest(first) == manifest(second)
    names = ("source", "destination", "bytes")
    offered = [
        [[row[name] for name in names] for row in rows(folder / "flows.csv")] for folder in (first, second)
    ]
    assert sorted(offered[0]) == sorted(offered[1])
    assert len(offered[0]) > 3


@pytest.mark.slow
@pytest.mark.tried_again
def test_programs(tmp_path):
    first, second = measured_twice(tmp_path, ["run"], *FABRIC, "--exec", "h1_1 ping -c 2 -i 0.2 h5_1")
    assert manifest(first) == manifest(second)
    told = [json.loads((folder / "summary.json").read_text())["programs"] for folder in (first, second)]
    assert [[program["command"] for program in programs] for programs in told] == [
        ["ping -c 2 -i 0.2 h5_1"]
    ] * 2
    os.chown(first, pwd.getpwnam("nobody").pw_uid, -1)
    words = ["run", "--again", str(first), "--out", str(tmp_path / "third"), "--json"]
    assert polarlab(*words).returncode == 2
    assert polarlab(*words, "--run-programs").returncode == 0


@pytest.mark.slow
@pytest.mark.tried_again
def test_a_sweep_in_a_folder_of_its_own(tmp_path):
    words = [*FABRIC, *SHORT, "--routings", "min", "--patterns", "tornado", "--loads", "0.2"]
    first, second = measured_twice(tmp_path, ["sweep"], *words)
    assert manifest(first) == manifest(second)
    points = [rows(folder / "points.csv") for folder in (first, second)]
    assert [len(measured) for measured in points] == [1, 1]
    assert points[0][0]["offered"][:4] == points[1][0]["offered"][:4]


@pytest.mark.slow
@pytest.mark.tried_again
def test_a_failover(tmp_path):
    words = ["polarfly", "--q", "2", "--fail", "random-link", "--seed", "5"]

    def status(folder):
        """1 if probes were lost while nothing was broken, as on a busy machine; the result says so then."""
        lost = summary(folder)["lost_at_restore"]
        return int(lost > 0)

    first, second = measured_twice(tmp_path, ["demo", "failover"], *words, status_of=status)
    assert manifest(first) == manifest(second)
    told = [summary(folder) for folder in (first, second)]
    assert told[0]["failed"] == told[1]["failed"]
    for one in told:
        assert (one["pairs_affected"] > 0, one["silent_pairs"], one["restored"]) == (True, 0, True)
        assert (one["negative"] is None) == (one["lost_at_restore"] == 0)
    assert told[0]["packets_sent"] == pytest.approx(told[1]["packets_sent"], rel=0.01)

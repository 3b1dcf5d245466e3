"""Plug-ins with real packets: a package in a fresh environment, and a file that other processes need, too."""

import json
import os
import sys

import pytest
from conftest import completed
from support.builders import wheels
from support.fixtures.documents import ROOT

pytestmark = pytest.mark.usefixtures("no_leftovers")

PACKAGE = ROOT / "examples" / "plugin"
# Only the process of the traffic runs collectives, and only the controller's the law.
FILE = """
from routing.algorithms import ugal  # of PolarLab's own: no plug-in does so
from polarlab.extend import AllReduce, Span, Step, register

def chain(ranks, elements):
    whole = Span(0, elements)
    def program(rank):
        receive = [Step(source=rank - 1, receive_span=whole)] if rank else []
        return (*receive, *([Step(destination=rank + 1, send_span=whole)] if rank + 1 < ranks else []))
    return [program(rank) for rank in range(ranks)]

class Broadcast(AllReduce):
    algorithms = {"chain": chain}
    description = "every rank ends with rank 0's vector"
    source = "-"
    def bus_factor(self, _ranks):
        return 1.0
    def expected_results(self, vectors):
        return [vectors[0]] * len(vectors)

register("broadcast", Broadcast())
register("my-ugal", ugal.ROUTING)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """An environment with the example's package beside this project."""
    return wheels.environment_of_checkout(tmp_path_factory.mktemp("plugin") / "environment", PACKAGE)


def test_an_installed_package_is_measured_simulated_and_measured_again(environment, tmp_path):
    def polarlab(line):
        shell = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return completed([environment / "python", "-m", "polarlab", *line.split()], cwd=tmp_path, env=shell)

    fabric = "moebius --rungs 3 --routing scatter:share=0.5 --pattern mirror"
    done = polarlab(f"run {fabric} --link-rate 1Mbit --load 0.3 --duration 1 --out run --json")
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    assert measured["loss"] == 0
    # Partners are neighbours, and two of three detours take a hop or two more.
    detoured = sum(packets for hops, packets in measured["hops"].items() if int(hops) > 1)
    assert 0.1 < detoured / sum(measured["hops"].values()) < 0.6
    kept = json.loads((tmp_path / "run" / "manifest.json").read_text())["experiment"]["plugins"]
    assert {*kept} == {"moebius", "scatter", "mirror"}
    assert all(text.startswith("polarlab-scatter 0.1.0 sha256:") for text in kept.values())
    simulated = polarlab(f"simulate {fabric} --load 0.3 --cycles 1000 --out simulated --json")
    assert simulated.returncode == 0, simulated.stderr
    again = polarlab("run --again run --duration 1 --out again")
    assert again.returncode == 0, again.stderr
    missing = completed([sys.executable, "-m", "polarlab", "run", "--again", "run"], cwd=tmp_path)
    assert missing.returncode == 2
    assert "polarlab-scatter" in missing.stderr


def test_the_controller_and_the_traffic_run_the_file_that_was_read(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(FILE)
    line = "run polarfly --q 2 --link-rate 2Mbit --routing my-ugal --pattern broadcast --message-bytes 4KiB"
    words = [*line.split(), "--iterations", "1", "--plugin", file, "--out", tmp_path / "run", "--json"]
    done = completed([sys.executable, "-m", "polarlab", *words])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["pattern"] == "broadcast:chain"


LAW = """
import dataclasses
def law(group, ports): return [].nothing
failing = dataclasses.replace(ugal.ROUTING, law_maker=lambda datapath_id, **values: law)
"""


@pytest.mark.parametrize(
    ("former", "failing", "traffic"),
    [
        (
            "[vectors[0]] * len(vectors)",
            "[].nothing",
            "--pattern broadcast --message-bytes 4KiB --iterations 1",
        ),
        ("ugal.ROUTING)", "failing)", "--load 0.3 --duration 3"),
    ],
    ids=["traffic", "controller"],
)
def test_a_function_that_fails_in_a_process_of_the_fabric_is_one_line(former, failing, traffic, tmp_path):
    file = tmp_path / "mine.py"
    head, tail = FILE.replace(former, failing).split("def chain")
    file.write_text(f"{head}{LAW}def chain{tail}")
    words = f"run polarfly --q 2 --link-rate 2Mbit --routing my-ugal {traffic}".split()
    done = completed([sys.executable, "-m", "polarlab", *words, "--plugin", file, "--out", tmp_path / "run"])
    errors = [one for one in done.stderr.splitlines() if one.startswith("polarlab: ")]
    assert done.returncode == 2, done.stderr
    assert len(errors) == 1
    assert "plug-in mine.py fails in line" in errors[0]

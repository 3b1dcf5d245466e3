"""Other fabrics than PolarFly, with real packets: all pairs, over as many hops as the graph says."""

import json
from pathlib import Path

import pytest
from conftest import polarlab

pytestmark = pytest.mark.usefixtures("no_leftovers")

TORUS = str(Path(__file__).parents[2] / "examples" / "torus-3x3.edges")


@pytest.mark.parametrize(
    ("words", "routers", "hops"),
    [
        (("polarstar", "--q", "2", "--degree", "0"), 14, 3),
        (("slimfly", "--q", "3"), 18, 2),
        (("graph", "--from", TORUS), 9, 2),
    ],
)
@pytest.mark.parametrize("routing", ["min", "ugal"])
def test_all_pairs_and_a_run(tmp_path, words, routers, hops, routing):
    out = ("--out", str(tmp_path / "run"), "--json")
    traffic = ("--load", "0.1", "--duration", "2", "--warmup", "0.5", "--link-rate", "1Mbit")
    done = polarlab("run", *words, "--routing", routing, *traffic, *out)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["verified"]["pairs"] == summary["verified"]["delivered"] == routers * (routers - 1)
    assert summary["loss"] == 0
    assert max(map(int, summary["hops"])) == hops


def test_a_polarstar_of_56_routers_comes_up():
    done = polarlab("up", "polarstar", "--q", "2", "--degree", "3", "--exec", "h1_1 ping -c 1 -W 2 h56_1")
    assert done.returncode == 0, done.stderr
    assert "1 received" in done.stdout

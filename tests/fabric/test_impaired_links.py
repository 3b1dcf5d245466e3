"""Links that delay and lose packets, seen from the hosts; and what is said where the kernel has no netem."""

import csv
import json

import pytest
from conftest import one_line, polarlab

from emulation.requirements import qdisc_available
from topology.registry import make_topology

pytestmark = pytest.mark.usefixtures("no_leftovers")

NETEM = qdisc_available("netem delay 1ms")
needs_netem = pytest.mark.skipif(not NETEM, reason="this kernel has no netem")
RUN = ("run", "polarfly", "--q", "2", "--link-rate", "1Mbit", "--frame-bytes", "200", "--json")


def pairs_by_distance(folder):
    """Returns distance -> the rows of `pairs.csv`, numbers as floats."""
    with (folder / "pairs.csv").open() as file:
        rows = list(csv.DictReader(file))
    return {distance: [row for row in rows if row["distance"] == str(distance)] for distance in (1, 2)}


@pytest.mark.skipif(NETEM, reason="this kernel has netem")
@pytest.mark.parametrize("option", [("--link-delay", "5"), ("--link-loss", "0.01")])
def test_a_kernel_without_netem_is_named_before_anything_starts(option):
    done = polarlab(*RUN, *option)
    assert done.returncode == 3
    assert "no netem" in one_line(done.stderr)


@needs_netem
def test_every_link_adds_its_delay(tmp_path):
    out = tmp_path / "run"
    done = polarlab(*RUN, "--link-delay", "40", "--load", "0.05", "--duration", "5", "--out", str(out))
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["link_delay_ms"], result["loss"], result["hops_as_distances"]) == (40, 0, True)
    by_distance = pairs_by_distance(out)
    for distance, rows in by_distance.items():
        delays = [float(row["latency_mean_ms"]) for row in rows]
        assert min(delays) >= 40 * distance
        # The rest is the machine's, and a machine that takes longer says so.
        assert sorted(delays)[len(delays) // 2] < 40 * distance + 20 or not result["fidelity"]["valid"]
    # Hosts of one router are nearer than any link's delay.
    assert by_distance[1]


@needs_netem
def test_links_lose_their_share_and_the_result_says_whose_loss_it_was(tmp_path):
    out = tmp_path / "run"
    words = ("--link-loss", "0.1", "--load", "0.1", "--duration", "12", "--out", str(out))
    done = polarlab(*RUN, *words)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    # Whose loss it was, before how much: no queue lost packets, nor the machine, and netem lost its share.
    assert result["links"]["lost_packets"] > 0
    assert result["links"]["dropped_packets"] == 0
    assert result["fidelity"]["lost_outside_queues"] == pytest.approx(0, abs=0.002)
    assert not [reason for reason in result["fidelity"]["reasons"] if "--link-loss" in reason]
    lost = {}
    for distance, rows in pairs_by_distance(out).items():
        sent, received = (sum(int(row[name]) for row in rows) for name in ("sent_frames", "received_frames"))
        lost[distance] = 1 - received / sent
        expected = 1 - 0.9**distance
        # Four standard deviations of a share of so many packets.
        assert abs(lost[distance] - expected) < 4 * (expected * (1 - expected) / sent) ** 0.5, (
            distance,
            sent,
        )


@needs_netem
def test_a_link_that_loses_more_than_was_asked_for_is_named(tmp_path):
    """Somebody changes a link's netem while the fabric is up; the read-back of its launch cannot see that."""
    lines = (
        "s1 tc qdisc change dev s1-eth1 root handle 2: netem limit 1000 loss 40%",
        "traffic start uniform 0.3",
        "h1_1 ping -c 20 -i 0.5 h2_1",
    )
    words = [word for line in lines for word in ("--exec", line)]
    out = tmp_path / "session"
    links = ("--link-rate", "1Mbit", "--link-loss", "0.1")
    done = polarlab("up", "polarfly", "--q", "2", *links, *words, "--out", str(out))
    assert done.returncode == 0, done.stderr
    reasons = json.loads((out / "summary.json").read_text())["fidelity"]["reasons"]
    [reason] = [reason for reason in reasons if "--link-loss" in reason]
    first = make_topology("polarfly", {"q": 2}).neighbours(0)[0]
    assert f"link s1-s{first + 1} lost " in reason
    assert f"result not valid: {reason}" in done.stderr


@needs_netem
def test_pings_take_a_delay_each_way():
    done = polarlab(
        *("up", "polarfly", "--q", "2", "--link-delay", "30"), "--exec", "h1_1 ping -c 3 -i 0.3 h2_1"
    )
    assert done.returncode == 0, done.stderr
    min_ms = float(done.stdout.split("min/avg/max")[1].split("=")[1].split("/")[0])
    assert min_ms >= 60  # there and back

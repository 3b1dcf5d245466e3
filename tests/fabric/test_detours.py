"""Detours with real packets: tags pushed, followed and popped, taken under load, by what tells of queues."""

import json
from dataclasses import replace

import pytest
from conftest import PATIENCE, QUIET, polarlab

from controller.occupancy.source import NETLINK, PORT_STATISTICS
from experiments import live_fabric as fabric_module
from experiments.events.base import Event
from experiments.events.bringup import QueuesUnreadable
from experiments.live_fabric import live_fabric
from experiments.measurement import measure
from experiments.pair_check import check_all_pairs
from experiments.results.manifest import run_manifest
from experiments.spec.fabric import FabricOptions
from experiments.spec.settings import TrafficSettings
from experiments.spec.traffic import TrafficOptions
from topology.links import LinkSpec
from topology.registry import make_topology

pytestmark = pytest.mark.usefixtures("no_leftovers")

TOPOLOGY = make_topology("polarfly", {"q": 3})
# An emulated machine passes fewer packets a second: there links are slower, and queues take longer to fill.
SLOWER = PATIENCE**0.5
LINKS = LinkSpec(round(500_000 / SLOWER), 32)
ADAPTIVE = FabricOptions("polarfly", {"q": 3}, TOPOLOGY, 3, LINKS, "ugal-pf", "auto")
PERMUTATION = TrafficOptions("random-permutation", 0.5, 1000, 64, 4.0 * SLOWER, 4.0 * SLOWER, seed=1)
LEAST_ACCEPTED = 0.34  # minimal routing accepts 0.308 of this permutation, fixed splits up to 0.41


@pytest.mark.parametrize("routing", ["valiant", "compact-valiant"])
def test_packets_take_detours_and_all_arrive(tmp_path, routing):
    done = polarlab(
        *("run", "polarfly", "--q", "3", "--hosts", "2", "--routing", routing, "--pattern", "perm1hop"),
        *("--link-rate", "1Mbit", "--load", "0.2", "--duration", "2", "--warmup", "0.2"),
        *("--out", str(tmp_path / "run"), "--json"),
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["loss"] == 0
    assert summary["out_of_order"] == 0
    assert summary["verified"]["pairs"] == 26 * 25
    hops = {int(number) for number in summary["hops"]}
    # Neighbours, not by their own link: the triangle's two hops, or four.
    assert hops == {2, 4} if routing == "compact-valiant" else max(hops) == 4
    assert summary["predicted"]["accepted"] == pytest.approx(0.2)


def test_port_statistics_alone_move_traffic_to_detours():
    with live_fabric(replace(ADAPTIVE, occupancy=PORT_STATISTICS), QUIET) as fabric:
        summary = measure(fabric, PERMUTATION, check_all_pairs(fabric, QUIET), QUIET).summary
    assert summary.adaptation.occupancy == PORT_STATISTICS
    assert summary.adaptation.groups_modified > 0
    assert summary.adaptation.warnings == ()
    assert summary.accepted > LEAST_ACCEPTED


def test_without_netlink_port_statistics_take_over_and_it_is_said(monkeypatch):
    def refused(*_arguments):
        raise PermissionError(1, "Operation not permitted")

    assert ADAPTIVE.occupancy == NETLINK
    monkeypatch.setattr(fabric_module, "open_queues", refused)
    events: list[Event] = []
    with live_fabric(ADAPTIVE, events.append) as fabric:
        assert fabric.occupancy == PORT_STATISTICS
        written = run_manifest(fabric, TrafficSettings(), PERMUTATION.seed)
        assert (written.occupancy, written.occupancy_asked) == (PORT_STATISTICS, NETLINK)
    assert sum(isinstance(event, QueuesUnreadable) for event in events) == 1


@pytest.fixture(scope="module")
def adaptive():
    """A fabric whose routing adapts, and its check of all pairs; up until the module's end."""
    with live_fabric(ADAPTIVE, QUIET) as fabric:
        yield fabric, check_all_pairs(fabric, QUIET)


def test_without_congestion_no_group_is_modified(adaptive):
    fabric, check = adaptive
    summary = measure(fabric, replace(PERMUTATION, load=0.1, warmup_s=1.0), check, QUIET).summary
    assert summary.adaptation.groups_modified == 0
    assert summary.loss == 0
    assert summary.hops_as_distances


def test_under_load_traffic_moves_to_detours_and_more_gets_through(adaptive):
    fabric, check = adaptive
    summary = measure(fabric, PERMUTATION, check, QUIET).summary
    assert summary.adaptation.groups_modified > 0
    assert summary.accepted > LEAST_ACCEPTED
    assert set(summary.hops) > {1, 2}

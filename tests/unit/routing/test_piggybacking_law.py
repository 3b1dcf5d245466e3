"""The control law that knows the queues of all global links of a group, and where it reads them."""

import pytest

from routing.algorithms.bucket_control import SwitchAdapter
from routing.plan.model import Bucket, Group, GroupKind, SwitchPlan, ToGroup
from routing.registry import make_plan, routing
from topology.families.dragonflies.dragonfly import Dragonfly

MIDDLE = Dragonfly(h=4, a=8, groups=9, trunking=4)
MINIMAL, DETOUR = Bucket((ToGroup(1),)), Bucket((ToGroup(2),))
# Both paths start on port 1; then the minimal one takes port 5 of router 7, the detour port 6 of router 8.
GROUP = Group(
    3,
    GroupKind.SELECT,
    (MINIMAL,) * 64,
    candidates=(MINIMAL, DETOUR),
    hops=(3.0, 6.0),
    ports=((1,), (1,)),
    far_ports=(((7, 5),), ((8, 6),)),
)


def adapters(name="four-color-adaptive"):
    """Returns the adapters of the source and of routers 7 and 8, which share what they read."""
    chosen, shared = routing(name), {}
    plans = [SwitchPlan(router, (), (GROUP,) if router == 0 else (), (), ()) for router in (0, 7, 8)]
    return [SwitchAdapter(plan, chosen.make_law(1), chosen.control(), shared) for plan in plans]


def detoured(own, seventh, eighth, steps=30, name="four-color-adaptive"):
    source, at_seventh, at_eighth = adapters(name)
    for _ in range(steps):
        at_seventh.update({5: seventh})
        at_eighth.update({6: eighth})
        source.update({1: own})
    return 64 - source.groups[0].minimal_buckets


@pytest.mark.parametrize("own", [0.0, 0.9])
def test_a_congested_global_link_of_a_gateway_is_avoided_whatever_the_first_queue(own):
    assert detoured(own, 0.6, 0.2) > 32
    assert detoured(own, 0.4, 0.2) == 0
    assert detoured(own, 0.6, 0.6) == 0
    assert detoured(own, 0.2, 0.6) == 0


def test_the_share_from_which_a_link_is_congested_is_a_parameter():
    assert detoured(0.0, 0.6, 0.2, name="four-color-adaptive:congested=0.8") == 0
    assert detoured(0.0, 0.9, 0.2, name="four-color-adaptive:congested=0.8") > 32


def test_detours_return_when_the_link_is_no_longer_congested():
    source, at_seventh, at_eighth = adapters()
    for occupancy, most in ((0.9, 0), (0.0, 64)):
        for _ in range(1500):
            at_seventh.update({5: occupancy})
            at_eighth.update({6: 0.1})
            source.update({1: 0.3})
        assert source.groups[0].minimal_buckets == most


@pytest.mark.parametrize("order", ["paper", "own"])
def test_far_ports_lead_over_the_first_global_links(order):
    plan = make_plan(MIDDLE, 1, f"four-color-adaptive:order={order}")
    seen = 0
    for switch in plan.switches[:8]:
        for group in (one for one in switch.groups if one.candidates):
            for ports, far in zip(group.ports, group.far_ports, strict=True):
                first = [int(MIDDLE.neighbours(switch.router)[port - 1]) for port in ports]
                beyond = {int(MIDDLE.neighbours(router)[port - 1]) for router, port in far}
                for one in first:
                    inside = MIDDLE.group_of[one] == 0
                    gateways = {router for router, _ in far}
                    assert (one if inside else switch.router) in gateways
                    seen += 1
                assert 0 not in MIDDLE.group_of[list(beyond)]
                assert len(set(MIDDLE.group_of[list(beyond)].tolist())) == 1
    assert seen > 1000

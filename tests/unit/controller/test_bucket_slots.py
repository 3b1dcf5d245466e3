"""What Open vSwitch makes of select groups, by a model of its slots, against the shares of the plan."""

import heapq
import math
from collections import Counter
from fractions import Fraction

import pytest

from controller.openflow.bucket_slots import buckets_in_slots
from routing.plan.groups import push_tag
from routing.plan.model import Bucket, Group, GroupKind, Output, ToGroup
from routing.registry import make_plan
from topology.registry import make_topology


def slots_of(buckets):
    """The bucket of each slot: 2^k slots, at least 16, by Webster's method."""
    weights = [bucket.weight for bucket in buckets]
    size = max(16, 1 << (math.ceil(sum(weights) / min(weights)) - 1).bit_length())
    assert size <= 256  # Open vSwitch would take a slower hash
    slots, quotients = [], [(-weight, place, 1) for place, weight in enumerate(weights)]
    heapq.heapify(quotients)
    while len(slots) < size:
        _, place, divisor = quotients[0]
        slots.append(buckets[place])
        heapq.heapreplace(quotients, (-weights[place] / (divisor + 2), place, divisor + 2))
    return slots


def sent(group):
    return slots_of(buckets_in_slots(group))


def of_ports(count):
    return Group(1, GroupKind.SELECT, tuple(Bucket((Output(port),)) for port in range(1, count + 1)))


def of_intermediates(count):
    buckets = tuple(Bucket((*push_tag(router), ToGroup(1))) for router in range(count))
    return Group(2, GroupKind.SELECT, buckets)


@pytest.mark.parametrize("make", [of_ports, of_intermediates])
@pytest.mark.parametrize("count", [2, 3, 4, 5, 7, 8, 11, 12])
def test_equal_buckets_get_equal_shares_of_the_traffic(make, count):
    shares = Counter(sent(make(count)))
    assert len(shares) == count
    assert max(shares.values()) <= 1.06 * min(shares.values())


@pytest.mark.parametrize("ports", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("intermediates", [2, 3, 6, 8, 12])
def test_the_choice_of_a_port_does_not_follow_from_that_of_an_intermediate_router(intermediates, ports):
    first, second = sent(of_intermediates(intermediates)), sent(of_ports(ports))
    together = Counter((first[bits % len(first)], second[bits % len(second)]) for bits in range(256))
    for intermediate in set(first):
        shares = [together[intermediate, port] for port in set(second)]
        assert max(shares) - min(shares) <= 2


def of_weights(*weights, tagged=False):
    tags = [push_tag(router) if tagged else () for router in range(len(weights))]
    pairs = enumerate(zip(tags, weights, strict=True), 1)
    return Group(
        1, GroupKind.SELECT, tuple(Bucket((*tag, Output(port)), None, one) for port, (tag, one) in pairs)
    )


@pytest.mark.parametrize(
    ("weights", "slots", "tagged"),
    [
        ((1, 4), (51, 205), True),  # 51.2 and 204.8
        ((1, 4), (26, 102), False),  # 128 slots: 25.6 and 102.4
        ((4, 4, 1), (114, 114, 28), True),  # 113.8, 113.8 and 28.4
        ((3, 28, 63), (8, 76, 172), False),  # 8.2, 76.3 and 171.6
        ((1, 1000), (1, 255), False),  # no path is lost
        ((1, 1, 1, 2000), (1, 1, 1, 253), True),
    ],
)
def test_weighted_buckets_get_the_slots_that_are_nearest_to_their_shares(weights, slots, tagged):
    group = of_weights(*weights, tagged=tagged)
    numbers = Counter(bucket.actions for bucket in sent(group))
    assert tuple(numbers[bucket.actions] for bucket in group.buckets) == slots


def test_weights_that_divide_the_slots_get_no_more_buckets_than_they_need():
    assert len(buckets_in_slots(of_weights(1, 3))) == 16
    assert len(buckets_in_slots(of_weights(10, 50, 4))) == 32


@pytest.mark.parametrize(
    "group",
    [
        Group(1, GroupKind.SELECT, of_ports(3).buckets, candidates=of_ports(3).buckets),
        Group(1, GroupKind.SELECT, of_weights(1, 4).buckets, candidates=of_weights(1, 4).buckets),
        of_weights(1, 0),
        of_weights(*257 * [1]),
        Group(1, GroupKind.FAST_FAILOVER, of_ports(3).buckets),
    ],
)
def test_other_groups_stay_as_they_are(group):
    assert tuple(buckets_in_slots(group)) == group.buckets


def planned(groups, group, share=Fraction(1)):
    """The share of each port of what enters a group, by the weights of the plan."""
    buckets = group.buckets if group.kind is GroupKind.SELECT else group.buckets[:1]
    total, ports = sum(bucket.weight for bucket in buckets), Counter()
    for bucket in buckets:
        for action in bucket.actions:
            if isinstance(action, ToGroup):
                ports.update(planned(groups, groups[action.group], share * bucket.weight / total))
            elif isinstance(action, Output):
                ports[action.port] += share * bucket.weight / total
    return ports


def chosen(groups, group, slots, bits):
    """The port to which packets with some bits of the hash go."""
    if group.number not in slots:
        slots[group.number] = sent(group) if group.kind is GroupKind.SELECT else group.buckets[:1]
    bucket = slots[group.number][bits % len(slots[group.number])]
    for action in bucket.actions:
        if isinstance(action, ToGroup):
            return chosen(groups, groups[action.group], slots, bits)
        if isinstance(action, Output):
            return action.port
    raise AssertionError("the bucket leads nowhere")


@pytest.mark.parametrize(
    ("parameters", "routing"),
    [
        ({"a": 8, "h": 4, "groups": 9, "trunking": 4}, "four-color-valiant"),  # weights of 1 to 63
        ({"a": 8, "h": 4, "groups": 9, "trunking": 4}, "four-color-adaptive"),
        ({"a": 8, "h": 4, "groups": 9, "trunking": 4}, "valiant"),  # 71 intermediate routers
        ({"a": 4, "h": 2}, "valiant"),
        ({"a": 4, "h": 2}, "valiant-group"),
    ],
)
def test_groups_in_a_row_divide_traffic_as_planned(parameters, routing):
    plan = make_plan(make_topology("dragonfly", parameters), 1, routing)
    for switch in plan.switches[:3]:
        groups, slots = {group.number: group for group in switch.groups}, {}
        for group in switch.groups:
            if group.kind is GroupKind.SELECT and not group.candidates and len(group.buckets) > 1:
                ports = Counter(chosen(groups, group, slots, bits) for bits in range(256))
                for port, share in planned(groups, group).items():
                    assert 0.85 * share <= Fraction(ports[port], 256) <= 1.15 * share, (
                        switch.router,
                        group.number,
                        port,
                    )

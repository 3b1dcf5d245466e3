"""Evenness of what Open vSwitch does with select groups, by a model of its slots."""

from collections import Counter

import pytest

from controller.openflow.bucket_slots import buckets_in_slots
from routing.plan.groups import push_tag
from routing.plan.model import Bucket, Group, GroupKind, Output, ToGroup


def slots_of(buckets):
    """The bucket of each slot: 2^k slots, at least 16, that buckets of equal weight get in turn."""
    size = max(16, 1 << (len(buckets) - 1).bit_length())
    assert size <= 256  # Open vSwitch would take a slower hash
    return [buckets[slot % len(buckets)] for slot in range(size)]


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


def test_adaptive_and_weighted_groups_stay_as_they_are():
    buckets = of_ports(3).buckets
    adaptive = Group(1, GroupKind.SELECT, buckets, candidates=buckets)
    weighted = Group(1, GroupKind.SELECT, (Bucket((Output(1),), weight=2), Bucket((Output(2),))))
    failover = Group(1, GroupKind.FAST_FAILOVER, buckets)
    for group in (adaptive, weighted, failover):
        assert tuple(buckets_in_slots(group)) == group.buckets

"""Members of families by formulas: their sizes beside those of their graphs, and the nearest to a size."""

from operator import attrgetter

import pytest

from topology.base import MAX_ROUTERS
from topology.families.family import Family, Member
from topology.families.nearest import members_of, nearest_member
from topology.registry import FAMILIES, make_topology

SERIES = [name for name, one in FAMILIES.items() if one.members]
# Networks that the papers of PolarFly and PolarStar compare: parameters, routers, radix, hosts of a router.
PUBLISHED = {
    "polarfly": ({"q": 31}, 993, 32, 16),
    "polarstar": ({"q": 11, "supernode": "iq", "degree": 3}, 1064, 15, 5),
    "slimfly": ({"q": 23}, 1058, 35, 18),
    "bundlefly": ({"q": 7, "degree": 4}, 882, 15, 5),
    "spectralfly": ({"p": 23, "q": 13}, 1092, 24, 8),
    "dragonfly": ({"a": 12, "h": 6}, 876, 17, 6),
    "hyperx": ({"shape": "9x9x8"}, 648, 23, 8),
    "fat-tree": ({"arity": 18, "levels": 3}, 972, 36, 18),
    "megafly": ({"rho": 8, "a": 16}, 1040, 16, 8),
    "jellyfish": ({"routers": 993, "degree": 32}, 993, 32, 16),
}


@pytest.mark.parametrize("name", SERIES)
def test_members_have_the_sizes_of_their_graphs(name):
    members = [member for member in members_of(FAMILIES[name]) if member.radix <= 16]
    assert members
    for member in members:
        graph = make_topology(name, member.params)
        sizes = graph.network_radix, graph.routers, graph.endpoints(member.hosts)
        assert sizes == (member.radix, member.routers, member.endpoints), member


@pytest.mark.parametrize("name", SERIES)
def test_members_are_different_and_can_be_built(name):
    members = members_of(FAMILIES[name])
    assert all(1 < member.routers <= MAX_ROUTERS and 1 <= member.hosts <= 254 for member in members)
    assert len({tuple(member.params.items()) for member in members}) == len(members)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SERIES if FAMILIES[name].group != "random"])
def test_the_largest_members_can_be_built(name):
    """Without random graphs, which take long to draw and are not bounded by formulas of their own."""
    members = members_of(FAMILIES[name])
    largest = [max(members, key=attrgetter(size)) for size in ("routers", "radix", "hosts")]
    for place, member in enumerate(largest):
        if member not in largest[:place]:
            graph = make_topology(name, member.params)
            assert (graph.routers, graph.network_radix) == (member.routers, member.radix)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_networks_are_members(name):
    params, *sizes = PUBLISHED[name]
    [found] = [member for member in members_of(FAMILIES[name]) if member.params == params]
    assert [found.routers, found.radix, found.hosts] == sizes


def family(*members):
    return Family(make_topology, (), "", "", "random", lambda: [Member({}, *sizes) for sizes in members])


@pytest.mark.parametrize(
    ("radix", "endpoints", "nearest"),
    [
        # (radix, routers, hosts)
        (10, None, (9, 50, 4)),
        (14, None, (16, 60, 5)),
        (None, 200, (9, 50, 4)),
        (None, 250, (17, 70, 3)),
        (None, 185, (9, 50, 4)),
        (None, 1000, (16, 60, 5)),
        (16, 200, (16, 60, 3)),
        (9, 100, (9, 25, 4)),
    ],
)
def test_the_nearest_member_is_found_by_radix_or_endpoints_or_both(radix, endpoints, nearest):
    several = family((9, 25, 4), (9, 50, 4), (16, 60, 3), (16, 60, 5), (17, 70, 3))
    found = nearest_member(several, radix, endpoints)
    assert (found.radix, found.routers, found.hosts) == nearest


def test_routers_without_hosts_do_not_count_as_endpoints():
    assert Member({}, 4, 30, 3, hosting=20).endpoints == 60


def test_members_that_cannot_be_built_are_left_out():
    assert nearest_member(family((9, MAX_ROUTERS + 1, 4), (9, 20, 255)), 9, None) is None
    assert nearest_member(FAMILIES["graph"], 9, None) is None

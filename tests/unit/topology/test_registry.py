"""The registry of families, the contract of a family, and the errors of wrong names and parameters."""

import itertools

import numpy as np
import pytest

import polarlab
from topology import registry
from topology.base import MAX_ROUTERS
from topology.errors import ParameterError, UsageError
from topology.families.family import GROUPS, Family
from topology.families.low_diameter.polarfly import PolarFly
from topology.parameters import Parameter
from topology.registry import FAMILIES, family, make_topology
from topology.shortest_paths import connected_components


def test_a_topology_is_made_from_its_name_and_parameters():
    topology = make_topology("polarfly", {"q": 3})
    assert (topology.name, dict(topology.params), topology.routers) == ("polarfly", {"q": 3}, 13)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_an_example_that_names_it_and_its_parameters(name):
    words = FAMILIES[name].example.split()
    assert words[0] == name
    assert {f"--{p.name}" for p in FAMILIES[name].parameters} >= {w for w in words if w.startswith("-")}


def test_lists_have_the_families_of_a_group_together():
    groups = [group for group, _ in itertools.groupby(entry.group for entry in polarlab.families().values())]
    assert groups == [group for group in GROUPS if group in groups]


def example(name):
    """Returns the member of a family that its example names."""
    words = FAMILIES[name].example.split()[1:]
    types = {parameter.name: parameter.type for parameter in FAMILIES[name].parameters}
    params = {key.removeprefix("--"): value for key, value in zip(words[::2], words[1::2], strict=True)}
    return make_topology(name, {key: types[key](value) for key, value in params.items()})


@pytest.mark.parametrize("name", FAMILIES)
def test_a_familys_name_and_params_make_the_same_graph_again(name):
    topology = example(name)
    assert topology.name == name
    again = make_topology(topology.name, topology.params)
    assert again.params == topology.params
    assert np.array_equal(again.adjacency.starts, topology.adjacency.starts)
    assert np.array_equal(again.adjacency.neighbours, topology.adjacency.neighbours)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_a_connected_graph_whose_links_have_two_ends(name):
    topology = example(name)
    assert 1 < topology.routers <= MAX_ROUTERS
    assert set(connected_components(topology)) == {0}
    assert all(router not in topology.neighbours(router) for router in range(topology.routers))
    assert len(topology.link_list) == topology.links


@pytest.mark.parametrize("name", FAMILIES)
def test_destination_blocks_share_a_next_hop_and_a_mask_and_are_as_few_as_promised(name):
    topology = example(name)
    numbers = np.array([topology.address_number(router) for router in range(topology.routers)])
    assert (np.diff(numbers) > 0).all()
    most = 0
    for router in range(topology.routers):
        blocks = list(topology.destination_blocks(router))
        most = max(most, len(blocks))
        others = [other for block in blocks for other in block.routers]
        assert others == [other for other in range(topology.routers) if other != router]
        for block in blocks:
            assert len(set(topology.next_hops(router, list(block.routers)).tolist())) == 1
            assert len(set((numbers[list(block.routers)] >> block.low_bits).tolist())) == 1
    assert most == topology.next_hop_rules


@pytest.mark.parametrize("name", FAMILIES)
def test_minimal_ports_lead_to_shortest_paths_only_and_the_first_to_the_next_hop(name):
    topology = example(name)
    everyone = np.arange(topology.routers)
    for router in range(topology.routers):
        mask = topology.minimal_port_mask(router)
        after = topology.distances(topology.neighbours(router)[:, None], everyone)
        assert (after < topology.distances(router, everyone))[mask].all()
        assert mask.any(axis=0).tolist() == (everyone != router).tolist()
        first = topology.neighbours(router)[mask.argmax(axis=0)]
        others = everyone != router
        assert (first == topology.next_hops(router, everyone))[others].all()


@pytest.mark.parametrize("name", ["", "polarfl", "polar.fly", "hexagon"])
def test_unknown_family_is_refused_with_those_that_exist(name):
    with pytest.raises(UsageError, match=f"{', '.join(sorted(FAMILIES))}, got '{name}'"):
        family(name)
    with pytest.raises(UsageError, match=f"got '{name}'"):
        make_topology(name, {"q": 3})


@pytest.mark.parametrize(("name", "near"), [("polarfl", "polarfly"), ("slimfyl", "slimfly")])
def test_a_mistyped_family_gets_the_nearest_one(name, near):
    with pytest.raises(UsageError, match=f"did you mean '{near}'"):
        family(name)


def test_missing_parameter_is_named_with_an_example():
    with pytest.raises(ParameterError, match=r"polarfly .*--q\b.*polarfly --q 7"):
        make_topology("polarfly", {})


def test_foreign_parameter_is_named():
    with pytest.raises(ParameterError, match=r"polarfly .*--degree.*polarfly --q 7"):
        make_topology("polarfly", {"q": 3, "degree": 4})


def test_a_mistyped_parameter_gets_the_nearest_one():
    with pytest.raises(ParameterError, match=r"--suprnode; .*'supernode'"):
        make_topology("polarstar", {"q": 3, "suprnode": "iq", "degree": 3})


@pytest.mark.parametrize("value", ["three", "3", 3.0, True, None])
def test_a_value_of_another_type_is_refused(value):
    with pytest.raises(ParameterError, match=r"^q .* 2 to 128, got"):
        make_topology("polarfly", {"q": value})


class Drawn(PolarFly):
    """A family whose `seed` is a number between 0 and 1, and whose `degree` is a word."""

    def __init__(self, degree, link_seed=0.5):
        super().__init__({"low": 2, "high": 5}[degree])
        self.params = {"degree": degree, "link_seed": link_seed}


def test_a_family_has_parameters_of_its_own_whatever_others_call_theirs(monkeypatch):
    degree = Parameter(name="degree", type=str, help="degree", choices=lambda: ("low", "high"), required=True)
    seed = Parameter(name="link-seed", type=float, help="seed of the links", least=0, most=1, default=0.5)
    drawn = Family(Drawn, (degree, seed), "drawn", "drawn --degree low", "random")
    monkeypatch.setattr(registry, "FAMILIES", {**FAMILIES, "drawn": drawn})
    assert make_topology("drawn", {"degree": "high", "link_seed": 1}).params == {
        "degree": "high",
        "link_seed": 1.0,
    }
    with pytest.raises(ParameterError, match=r"^degree .* low, high, got '3'"):
        make_topology("drawn", {"degree": "3"})
    with pytest.raises(ParameterError, match=r"^degree .* 0 to 64, got the text 'low'"):
        make_topology("polarstar", {"q": 3, "degree": "low"})


def test_invalid_value_is_refused_by_the_family():
    with pytest.raises(ParameterError, match=r"^q .*got 6"):
        make_topology("polarfly", {"q": 6})

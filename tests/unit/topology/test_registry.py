"""The families by name, and what is said when a name or a parameter is wrong."""

import pytest

from topology.errors import ParameterError, UsageError
from topology.registry import FAMILIES, family, make_topology


def test_a_topology_is_made_from_its_name_and_parameters():
    topology = make_topology("polarfly", {"q": 3})
    assert (topology.name, dict(topology.params), topology.routers) == ("polarfly", {"q": 3}, 13)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_an_example_that_names_it_and_its_parameters(name):
    words = FAMILIES[name].example.split()
    assert words[0] == name
    assert {f"--{p.name}" for p in FAMILIES[name].parameters} >= {w for w in words if w.startswith("-")}


@pytest.mark.parametrize("name", ["", "polarfl", "PolarFly", "torus"])
def test_unknown_family_is_refused_with_those_that_exist(name):
    with pytest.raises(UsageError, match=f"graph, polarfly, polarstar, slimfly, got '{name}'"):
        family(name)
    with pytest.raises(UsageError, match=f"got '{name}'"):
        make_topology(name, {"q": 3})


def test_missing_parameter_is_named_with_an_example():
    with pytest.raises(ParameterError, match=r"polarfly .*--q\b.*polarfly --q 7"):
        make_topology("polarfly", {})


def test_foreign_parameter_is_named():
    with pytest.raises(ParameterError, match=r"polarfly .*--degree.*polarfly --q 7"):
        make_topology("polarfly", {"q": 3, "degree": 4})


def test_invalid_value_is_refused_by_the_family():
    with pytest.raises(ParameterError, match=r"^q .*got 6"):
        make_topology("polarfly", {"q": 6})

"""`polarlab families` and `polarlab.nearest_members`."""

import json

import pytest

import polarlab
from polarlab.cli import main as entry
from topology.registry import FAMILIES


def test_every_family_has_its_nearest_member_with_the_numbers_of_its_graph(capsys):
    assert entry.main(["families", "--radix", "7", "--endpoints", "150", "--json"]) == 0
    members = json.loads(capsys.readouterr().out)["families"]
    assert [member["name"] for member in members] == [name for name in FAMILIES if name != "graph"]
    for member in members:
        graph = polarlab.topology(member["name"], **member["params"])
        numbers = vars(polarlab.numbers(graph, member["hosts"]))
        alike = (numbers.keys() & member.keys()) - {"params"}  # which has defaults there
        assert len(alike) == 8
        assert {key: member[key] for key in alike} == {key: numbers[key] for key in alike}
        assert member["radix"] == max(map(int, numbers["degrees"]))
        assert member["group"] == FAMILIES[member["name"]].group


def test_a_table_has_the_distances_between_routers_with_hosts(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    assert entry.main(["families", "--radix", "8", "--group", "hierarchical"]) == 0
    lines = capsys.readouterr().out.splitlines()
    [tree] = [line.split() for line in lines if line.split()[:1] == ["orthogonal-fat-tree"]]
    assert tree[1:] == ["--q", "3", "8", "39", "104", "4", "104", "2", "2.000", "0.085"]
    assert "orthogonal-fat-tree" in lines[-1]
    assert not any(line.split()[:1] == ["polarfly"] for line in lines)


def test_members_are_a_table_in_python_too():
    members = polarlab.nearest_members(radix=8, group="low-diameter")
    assert members[0].params == {"q": 7}
    assert "polarfly" in repr(members)


@pytest.mark.parametrize("values", [{}, {"radix": 2}, {"radix": 8, "group": "trees"}, {"endpoints": 1.5}])
def test_wrong_values_are_refused_in_python(values):
    with pytest.raises(polarlab.UsageError, match=r"must be"):
        polarlab.nearest_members(**values)

"""`polarlab families` and `polarlab.nearest_members`."""

import json

import pytest
from support.fixtures.command_line import fails

import polarlab
from polarlab.cli import main as entry
from topology.analysis import bisection
from topology.registry import FAMILIES


def test_every_family_has_its_nearest_member_with_the_numbers_of_its_graph(capsys):
    assert entry.main(["families", "--radix", "7", "--endpoints", "150", "--json"]) == 0
    members = json.loads(capsys.readouterr().out)["families"]
    assert [member["name"] for member in members] == [name for name, one in FAMILIES.items() if one.members]
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


COSTS = ("bisection", "cables", "cost_per_endpoint")
SMALL = "families --radix 6 --endpoints 60 --group dragonflies"


def test_costs_are_told_when_asked_for(monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert entry.main([*SMALL.split(), "--json"]) == 0
    for member in json.loads(capsys.readouterr().out)["families"]:
        assert [member[key] for key in COSTS] == [None] * 3
    assert entry.main([*SMALL.split(), "--costs", "--json"]) == 0
    members = {one["name"]: one for one in json.loads(capsys.readouterr().out)["families"]}
    dragonfly = members["dragonfly"]
    racks = polarlab.numbers(polarlab.topology("dragonfly", **dragonfly["params"]), racks=True).racks
    assert dragonfly["cables"] == racks["cables"]
    assert 0 < dragonfly["bisection"] < 1
    assert dragonfly["cost_per_endpoint"] > 0
    assert entry.main([*SMALL.split(), "--costs"]) == 0
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading.split()[-5:] == ["bisection", "cables", "$", "per", "endpoint"]
    [row] = [line.split() for line in lines if line.split()[:1] == ["dragonfly"]]
    shown = [f"{dragonfly['bisection']:.3f}", str(dragonfly["cables"])]
    assert row[-3:] == [*shown, f"{dragonfly['cost_per_endpoint']:.0f}"]


def test_a_search_without_metis_is_told(monkeypatch, capsys):
    monkeypatch.setattr(bisection, "metis_found", lambda: False)
    assert entry.main([*SMALL.split(), "--costs"]) == 0
    assert "METIS is not installed" in " ".join(capsys.readouterr().out.split())
    assert entry.main([*SMALL.split(), "--costs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["remark"].startswith("METIS is not installed")
    assert entry.main(SMALL.split()) == 0
    assert "METIS" not in capsys.readouterr().out


def test_prices_of_a_file_are_taken(tmp_path):
    zero = ("electric-per-m", "electric-fixed", "optic-per-m", "optic-fixed", "router-fixed", "lanes")
    content = {**dict.fromkeys((*zero, "lane-power", "inside", "overhead", "rack"), 0), "rate": 1}
    file = tmp_path / "prices.toml"
    file.write_text("\n".join(f"{key} = {value}" for key, value in {**content, "router-per-port": 6}.items()))
    [one, *_] = polarlab.nearest_members(radix=6, group="low-diameter", costs=True, prices=file)
    # ER_5: 31 routers of 6 links and 3 hosts.
    assert (one.params, one.hosts, one.cost_per_endpoint) == ({"q": 5}, 3, 6 * 9 / 3)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("rate = 40", "must have electric-per-m"),
        ("[rate]", "prices must have"),
        ("speed = 40", "key of prices must be one of source, rate"),
        ("rate", "must be TOML"),
        (None, "cannot be read"),
    ],
)
def test_wrong_prices_are_wrong_use(tmp_path, capsys, content, words):
    file = tmp_path / "prices.toml"
    if content is not None:
        file.write_text(content)
    line = fails(capsys, [*SMALL.split(), "--costs", "--prices", str(file)], 2)
    assert words in line
    assert str(file) in line


def test_prices_need_costs(tmp_path, capsys):
    line = fails(capsys, [*SMALL.split(), "--prices", str(tmp_path / "prices.toml")], 2)
    assert "--prices needs --costs" in line

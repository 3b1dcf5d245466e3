"""Graphs, plans, proofs, predictions, explanations and rules in Python: the same as the commands print."""

import json
import re

import networkx as nx
import pytest

import polarlab
from polarlab.cli import main as entry


@pytest.fixture(scope="module")
def er3():
    return polarlab.topology("polarfly", q=3)


def printed(capsys, *words):
    assert entry.main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_graph_shows_its_size_and_not_its_address(er3):
    assert repr(er3) == "<polarfly q=3: 13 routers, 24 links>"


def test_numbers_are_those_of_the_command(er3, capsys):
    told = printed(capsys, "topology", "polarfly", "--q", "3", "--hosts", "2")
    assert vars(polarlab.numbers(er3, hosts=2)) == told


def test_python_s_keyword_for_a_file():
    graph = polarlab.topology("graph", from_="examples/torus-3x3.edges")
    assert graph.params == {"from": "examples/torus-3x3.edges"}


def test_listings_are_mappings_that_print_as_tables():
    families = polarlab.families()
    assert families["polarfly"].example == "polarfly --q 7"
    assert "polarstar" in families
    with pytest.raises(KeyError):
        families["hexagon"]
    assert repr(families).splitlines()[0].split() == ["name", "parameters", "summary", "example", "group"]
    assert "<td>polarfly</td>" in families._repr_html_()


def test_an_entry_of_a_listing_prints_as_lines():
    lines = repr(polarlab.routings()["ugal-pf"]).splitlines()
    assert lines[:3] == [
        "ugal-pf",
        "  summary    minimal, or a compact Valiant detour if the minimal path is full (polarfly)",
        "  source     PolarFly, section VII-C",
    ]
    assert lines[lines.index("  parameters") + 1].split() == [
        *("threshold", "occupancy", "of", "the", "minimal", "port's", "buffer", "above", "which"),
        *("detours", "are", "taken:", "over", "0", "and", "at", "most", "1", "(default", "2/3)"),
    ]
    assert repr(polarlab.families()["slimfly"]).splitlines()[-1].startswith("    q  ")
    assert "parameters" not in repr(polarlab.patterns()["tornado"])


@pytest.mark.parametrize("listing", [polarlab.families, polarlab.routings, polarlab.patterns])
def test_nothing_of_python_is_in_the_text_of_an_entry(listing):
    for one in listing().values():
        for text in (repr(one), one._repr_html_(), repr(one.parameters)):
            assert not re.search(r"Entry\(|Parameter\(|<class|None|=inf|=-inf", text)
        assert f"<th>name</th><td>{one.name}</td>" in one._repr_html_()


def test_patterns_are_those_of_the_command(capsys):
    told = [row["pattern"] for row in printed(capsys, "patterns")["patterns"]]
    assert [entry.usage for entry in polarlab.patterns().values()] == told


def test_a_proof_shows_its_verdict(er3):
    plan = polarlab.plan(er3, "valiant")
    assert repr(polarlab.prove(plan)).startswith("Proof(ok, pairs=156, scenarios=1, delivered=156")
    assert repr(plan).startswith("<plan of valiant for polarfly: 13 switches, ")


def test_a_failed_proof_shows_its_faults(er3):
    proof = polarlab.prove(polarlab.plan(er3, local_repair=False), "links")
    assert not proof.ok
    assert repr(proof).startswith("Proof(FAILED, ")
    assert "blackholes=" in repr(proof)


def test_predictions_are_those_of_the_command(er3, capsys):
    told = printed(capsys, "predict", "polarfly", "--q", "3", "--pattern", "tornado", "--load", "0.9")
    found = polarlab.predict(polarlab.plan(er3), "tornado", 0.9)
    assert round(found.accepted, 6) == told["accepted"]
    assert round(found.link_load_max, 6) == told["link_load_max"]
    assert round(found.link_load_mean, 6) == told["link_load_mean"]
    assert found.links_overloaded == told["links_overloaded"]
    assert [link.link for link in found.links] == [link["link"] for link in told["links"]]


def test_an_adaptive_routing_cannot_be_predicted(er3):
    with pytest.raises(polarlab.UsageError, match="must be oblivious"):
        polarlab.predict(polarlab.plan(er3, "ugal"))


def test_an_explanation_prints_as_the_command(er3, capsys):
    assert entry.main(["explain", "polarfly", "--q", "3", "s3", "s9"]) == 0
    assert f"{polarlab.explain(er3, 's3', 's9')}\n" == capsys.readouterr().out


def test_rules_print_as_the_command(er3, capsys):
    assert entry.main(["rules", "polarfly", "--q", "3", "--without", "link:s1-s10", "s1"]) == 0
    rules = polarlab.rules(polarlab.plan(er3), "s1", without="link:s1-s10")
    assert f"{rules}\n" == capsys.readouterr().out
    assert repr(rules) == f"<s1: {len(rules.rules)} rules, {len(rules.groups)} groups>"


@pytest.mark.parametrize("without", ["switch:s1", "controller", "hang:s2"])
def test_rules_without_something_else_are_refused(er3, without):
    with pytest.raises(polarlab.UsageError):
        polarlab.rules(polarlab.plan(er3), "s1", without=without)


def test_a_graph_is_written_and_drawn(er3, tmp_path):
    assert polarlab.export(er3, tmp_path / "g.json", "json").read_text().startswith('{"name": "polarfly"')
    figure = polarlab.draw(er3, tmp_path / "g.svg")
    assert (tmp_path / "g.svg").stat().st_size > 0
    assert "13 routers, 24 links" in figure.get_suptitle()
    with pytest.raises(polarlab.UsageError, match="already exists"):
        polarlab.draw(er3, tmp_path / "g.svg")


@pytest.mark.parametrize(
    ("name", "params", "text"),
    [
        ("polarfl", {}, "one of"),
        ("polarfly", {}, "q"),
        ("polarfly", {"q": 6}, "6"),
        ("polarfly", {"r": 6}, "r"),
    ],
)
def test_a_wrong_graph_is_one_line(name, params, text):
    with pytest.raises(polarlab.UsageError, match=text) as refused:
        polarlab.topology(name, **params)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("function", "others"),
    [
        (polarlab.plan, ()),
        (polarlab.numbers, ()),
        (polarlab.explain, ("s1", "s2")),
        (polarlab.draw, ()),
        (polarlab.export, ("graph.json", "json")),
    ],
)
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            nx.petersen_graph(),
            r"must be a graph of PolarLab, got a Graph of networkx; polarlab\.from_networkx",
        ),
        (nx.MultiGraph(), r"got a MultiGraph of networkx; polarlab\.from_networkx"),
        ("polarfly", r"got 'polarfly'; polarlab\.topology"),
        (7, "got 7"),
    ],
)
def test_something_else_than_a_graph_is_refused_in_one_line(function, others, value, text):
    with pytest.raises(polarlab.ParameterError, match=text) as refused:
        function(value, *others)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("function", "others"), [(polarlab.prove, ()), (polarlab.predict, ()), (polarlab.rules, ("s1",))]
)
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (nx.petersen_graph(), r"got a Graph of networkx; polarlab\.plan\(polarlab\.from_networkx\(graph\)\)"),
        (polarlab.topology("polarfly", q=2), r"got <polarfly q=2: .*>; polarlab\.plan\(graph\) makes one"),
        (None, "got None"),
    ],
)
def test_something_else_than_a_plan_is_refused_in_one_line(function, others, value, text):
    with pytest.raises(polarlab.ParameterError, match=text) as refused:
        function(value, *others)
    assert "\n" not in str(refused.value)


def test_a_fabric_of_a_plain_graph_names_the_function_that_makes_it_one():
    with pytest.raises(polarlab.ParameterError, match=r"polarlab\.from_networkx"):
        polarlab.Fabric(nx.petersen_graph())

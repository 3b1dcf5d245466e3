"""`polarlab topology`: the result, the list of families, designs, exports and figures."""

import json
import sys

import pytest
from support.fixtures.command_line import fails, prints_json, unnamed

import polarlab
from polarlab.cli import main as entry
from topology.errors import Status, UsageError
from topology.registry import FAMILIES

# The outside contract's keys.
TOPOLOGY_KEYS = {
    *("name", "params", "routers", "links", "degrees", "diameter", "average_path_length"),
    *("moore_efficiency", "endpoints"),
}


def test_topology_prints_one_json_object(capsys):
    result = prints_json(capsys, "topology polarfly --q 3 --hosts 2 --json")
    assert set(result) >= TOPOLOGY_KEYS
    assert result["name"] == "polarfly"
    assert result["params"] == {"q": 3}
    assert (result["routers"], result["links"], result["degrees"]) == (13, 24, {"3": 4, "4": 9})
    assert (result["diameter"], result["average_path_length"]) == (2, 1.692308)
    assert result["moore_efficiency"] == pytest.approx(13 / 17, abs=1e-6)
    assert result["endpoints"] == 26


def test_distances_between_routers_with_hosts_are_told_where_others_have_none(capsys):
    result = prints_json(capsys, "topology megafly --rho 8 --a 16 --hosts 8 --json")
    assert (result["diameter"], result["endpoints"]) == (5, 4160)
    # Leaves: 7 others of the group at 2 hops; of other groups' 512, 3 hops to all.
    mean = (7 * 2 + 512 * 3) / 519
    assert result["between_hosts"] == {"diameter": 3, "average_path_length": round(mean, 6)}
    assert prints_json(capsys, "topology torus --shape 3x3 --json")["between_hosts"] is None


def test_topology_tells_how_many_hosts_a_dragonfly_or_hyperx_carries(capsys):
    result = prints_json(capsys, "topology dragonfly --a 24 --h 13 --trunking 4 --json")
    assert result["balance"] == {"hosts": 13, "balanced": True}
    assert list(result["saturation_hosts"]) == ["local", "global"]
    assert list(result["link_ratios"]) == ["alpha", "balanced_alpha", "balanced_groups"]
    assert entry.main(["topology", "hyperx", "--shape", "4x5"]) == Status.DONE
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["balance"] == "hosts: 4, balanced: no"
    assert lines["saturation_hosts"] == "dimension 1: 4, dimension 2: 5"
    assert "between_hosts" not in lines
    torus = prints_json(capsys, "topology torus --shape 3x3 --json")
    assert torus["balance"] is torus["link_ratios"] is None


def test_racks_are_told_when_asked_for(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    words = "topology polarfly --q 5"
    racks = prints_json(capsys, f"{words} --racks --json")["racks"]
    assert list(racks) == [
        *("count", "rows", "columns", "links_inside", "links_between", "cables", "each", "bundles")
    ]
    assert (racks["count"], racks["rows"], racks["columns"], racks["cables"]) == (6, 2, 3, 15)
    # The quadrics are in rack 3 and have no link to one another.
    assert [each["routers"] for each in racks["each"]] == [5, 5, 6, 5, 5, 5]
    assert [each["links"] for each in racks["each"]] == [6, 6, 0, 6, 6, 6]
    assert {"racks": [1, 2], "links": 3} in racks["bundles"]
    assert {"racks": [1, 3], "links": 6} in racks["bundles"]
    assert prints_json(capsys, f"{words} --json")["racks"] is None
    assert entry.main([*words.split(), "--racks"]) == Status.DONE
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    shown = next(" ".join(line[1:]) for line in lines if line[:1] == ["racks"])
    assert shown == (
        "6 on a floor of 2 x 3: 30 links inside, 60 between in 15 cables (10 of 3 links, 5 of 6 links)"
    )
    assert lines[-4][:1] + lines[-4][3:] == ["3", "0", "30", "5", "6", "6", "-", "6", "6", "6"]


def test_many_racks_have_no_columns_for_one_another(monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert entry.main(["topology", "dragonfly", "--a", "4", "--h", "4", "--racks"]) == Status.DONE
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[-18] == ["rack", "routers", "first", "links", "outside", "cables"]
    assert lines[-1] == ["17", "4", "s65", "6", "16", "16"]


def test_classes_of_routers_are_told_when_asked_for(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "400")
    words = "topology dragonfly --a 4 --h 2"
    classes = {"count": 2, "sizes": [18, 18], "representatives": ["s1", "s2"]}
    assert prints_json(capsys, f"{words} --classes --json")["classes"] == classes
    assert prints_json(capsys, f"{words} --json")["classes"] is None
    assert entry.main([*words.split(), "--classes"]) == Status.DONE
    assert capsys.readouterr().out.splitlines()[-1].split(maxsplit=1) == ["classes", "2: 18 as s1, 18 as s2"]
    assert (
        entry.main(["topology", "jellyfish", "--routers", "20", "--degree", "4", "--classes"]) == Status.DONE
    )
    assert capsys.readouterr().out.splitlines()[-1].endswith("1 as s10, 10 more")
    assert fails(capsys, "topology --list --classes", Status.USAGE)
    monkeypatch.setitem(sys.modules, "igraph", None)
    line = fails(capsys, f"{words} --classes", Status.MACHINE)
    assert not unnamed(line, "igraph installs")


def test_topology_is_readable_without_json(capsys):
    assert entry.main(["topology", "polarfly", "--q", "7"]) == Status.DONE
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert (lines["routers"], lines["links"], lines["degrees"]) == ("57", "224", "7: 8, 8: 49")


def test_families_are_listed_below_their_groups(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "400")
    assert entry.main(["topology", "--list"]) == Status.DONE
    lines = capsys.readouterr().out.splitlines()[2:]
    group = ""
    listed = {}
    for line in lines:
        if line.startswith(" "):
            listed[line.split()[0]] = group
        else:
            group = line
    assert listed == {name: family.group for name, family in FAMILIES.items()}


def test_a_graph_of_more_routers_than_tags_can_name_is_still_a_graph(capsys):
    assert prints_json(capsys, "topology polarfly --q 64 --json")["routers"] == 4161


def test_topology_exports_beside_its_result(capsys, tmp_path):
    path = tmp_path / "g.json"
    result = prints_json(capsys, f"topology polarfly --q 3 --json --export json {path}")
    assert len(json.loads(path.read_text())["links"]) == result["links"]


def test_topology_exports_to_standard_output(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert entry.main(["topology", "polarfly", "--q", "3", "--export", "json", "-"]) == Status.DONE
    assert len(json.loads(capsys.readouterr().out)["links"]) == 24
    line = fails(capsys, "topology polarfly --q 3 --export json - --json", Status.USAGE)
    assert not unnamed(line, "--export --json")
    assert list(tmp_path.iterdir()) == []


def test_export_over_an_existing_file_is_refused(capsys, tmp_path):
    path = tmp_path / "g.json"
    path.write_text("precious")
    line = fails(capsys, ["topology", "polarfly", "--q", "3", "--export", "json", str(path)], Status.USAGE)
    assert not unnamed(line, str(path))
    assert path.read_text() == "precious"


def test_how_many_rules_masks_save_is_printed(capsys):
    result = prints_json(capsys, "topology polarstar --radix 15 --json")
    assert result["next_hop_rules"] == {"with_masks": 223, "one_per_router": 1063}


def test_a_fabric_is_drawn_and_a_file_that_exists_is_refused(capsys, tmp_path):
    path = tmp_path / "fabric.svg"
    assert entry.main(["topology", "slimfly", "--q", "3", "--figure", str(path)]) == Status.DONE
    assert not unnamed(path.read_text(), "slimfly q 3 18 45")
    capsys.readouterr()
    words = ["topology", "slimfly", "--q", "3", "--figure", str(path)]
    assert not unnamed(fails(capsys, words, Status.USAGE), str(path))


def test_a_command_that_is_refused_writes_nothing(capsys, tmp_path):
    graph, figure = tmp_path / "a.json", tmp_path / "a.gif"
    fails(capsys, f"topology polarfly --q 3 --export json {graph} --figure {figure}", Status.USAGE)
    fails(capsys, f"topology polarfly --q 3 --export json {graph} --figure {tmp_path}/no/a.png", Status.USAGE)
    same = tmp_path / "same.svg"
    fails(capsys, f"topology polarfly --q 3 --export json {same} --figure {same}", Status.USAGE)
    fails(capsys, f"topology polarstar --radix 15 --designs --export json {graph}", Status.USAGE)
    assert list(tmp_path.iterdir()) == []


def test_a_radix_is_reported_as_the_design_that_it_is(capsys):
    result = prints_json(capsys, "topology polarstar --radix 15 --json")
    assert result["params"] == {"q": 11, "supernode": "iq", "degree": 3}
    listed = prints_json(capsys, "topology polarstar --radix 15 --supernode paley --designs --json")
    assert {design["supernode"] for design in listed["designs"]} == {"paley"}


@pytest.mark.parametrize("name", ["a$x^$.edges", "two lines\nand more.edges", "caf\udce9.edges"])
def test_a_file_may_have_any_name(capsys, tmp_path, name):
    (tmp_path / name).write_text("a b\n")
    arguments = ["topology", "graph", "--from", str(tmp_path / name), "--figure", str(tmp_path / "m.png")]
    assert entry.main(arguments) == Status.DONE
    capsys.readouterr()
    fails(capsys, ["topology", "graph", "--from", str(tmp_path / f"no{name}")], Status.USAGE)


def test_export_formats_have_names_in_any_case(capsys):
    assert entry.main(["topology", "polarfly", "--q", "2", "--export", "Json", "-"]) == Status.DONE
    assert json.loads(capsys.readouterr().out)["routers"] == 7
    assert "did you mean 'json'?" in fails(capsys, "topology polarfly --q 2 --export jsn -", Status.USAGE)


@pytest.mark.parametrize("words", ["topology polarflly --help", "run polarflly --help-all"])
def test_the_help_of_an_unknown_topology_is_refused_with_the_nearest(capsys, words):
    assert "did you mean 'polarfly'?" in fails(capsys, words, Status.USAGE)


@pytest.mark.parametrize("words", ["explain my.graphml s1 s2", "topology graphs/mine.txt", "verify my.edges"])
def test_a_graphs_file_where_a_family_belongs_is_recognised(capsys, words):
    assert "--from" in fails(capsys, words, Status.USAGE)
    with pytest.raises(UsageError, match="from_"):
        polarlab.topology(words.split()[1])


def test_an_unreadable_edge_list_names_the_formats(capsys, tmp_path):
    (tmp_path / "g.gml").write_text("graph [\n  node [ id 0 ]\n")
    error = fails(capsys, f"topology graph --from {tmp_path / 'g.gml'}", Status.USAGE)
    assert all(word in error for word in (".graphml", ".xml", ".adjlist", "edge list"))

"""Names with parameters on the command line: lists of routings and patterns, results, typing errors."""

import json
import tomllib

import pytest

from experiments.spec.experiment import Experiment
from polarlab.cli.main import main
from polarlab.extend import make_topology
from routing.registry import ROUTINGS, routing
from topology.parameters import value_text
from traffic.workload.collectives.registry import COLLECTIVES
from traffic.workload.motifs import MOTIFS
from traffic.workload.patterns import PATTERNS, split_name


def printed(capsys, line):
    """Returns the JSON object that a command prints."""
    assert main([*line.split(), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_routings_are_listed_with_their_parameters(capsys):
    listed = printed(capsys, "routings")["routings"]
    assert [entry["routing"] for entry in listed] == list(ROUTINGS)
    for entry in listed:
        assert entry["kind"] == ("oblivious" if ROUTINGS[entry["routing"]].oblivious else "adaptive")
        assert entry["paths"]
        assert entry["source"]
        for parameter in entry["parameters"]:
            assert parameter["changes"] in ("rules", "law")
            assert parameter["domain"]
            assert parameter["help"]
            if not isinstance(parameter["default"], str):
                text = f"{entry['routing']}:{parameter['name']}={value_text(parameter['default'])}"
                assert routing(text).name.startswith(entry["routing"])
    of_ugal_pf = next(entry for entry in listed if entry["routing"] == "ugal-pf")
    [threshold] = [p for p in of_ugal_pf["parameters"] if p["name"] == "threshold"]
    assert threshold["type"] == "float"
    assert threshold["default"] == pytest.approx(2 / 3)
    assert threshold["changes"] == "law"


def test_patterns_are_listed_with_their_parameters(capsys):
    listed = printed(capsys, "patterns")["patterns"]
    names = [entry["pattern"].partition(":")[0].partition("[")[0] for entry in listed]
    assert names[: len(PATTERNS)] == list(PATTERNS)
    assert set(names[len(PATTERNS) :]) == {*COLLECTIVES, *MOTIFS}
    by_name = dict(zip(names, listed, strict=False))
    assert [parameter["name"] for parameter in by_name["hotspot"]["parameters"]] == ["hosts", "share"]
    assert by_name["hotspot"]["parameters"][1]["default"] == 0.5
    assert by_name["perm1hop"]["parameters"][0]["default"] == "the run's seed"
    assert by_name["uniform"]["parameters"] == []


@pytest.mark.parametrize("command", ["routings", "patterns"])
def test_lists_have_a_table_of_parameters(capsys, command):
    assert main([command]) == 0
    first, second = capsys.readouterr().out.split("\n\n")
    assert first.split()[0] == command[:-1]
    assert second.split()[1] == "parameter"


def test_results_have_the_one_name_of_a_routing_and_a_pattern(capsys):
    words = "--routing valiant:intermediates=08 --pattern shift:1 --load 0.1"
    result = printed(capsys, f"predict polarfly --q 3 {words}")
    assert (result["routing"], result["pattern"]) == ("valiant:intermediates=8", "shift")
    words = "--routing ugal-pf:release=0.30,threshold=0.5"
    assert printed(capsys, f"verify polarfly --q 2 {words}")["routing"] == "ugal-pf:threshold=0.5"
    assert printed(capsys, f"rules polarfly --q 2 {words} s1")["routing"] == "ugal-pf:threshold=0.5"
    assert printed(capsys, f"explain polarfly --q 2 {words} s1 s2")["routing"].startswith(
        "ugal-pf:threshold=0.5: "
    )


@pytest.mark.parametrize("name", PATTERNS)
def test_every_pattern_takes_its_defaults(name):
    for parameter in PATTERNS[name].parameters:
        if parameter.default is not None:
            split_name(f"{name}:{parameter.name}={value_text(parameter.default)}")


@pytest.mark.parametrize(
    ("line", "near"),
    [
        ("topology polarflly --q 3", "polarfly"),
        ("verify polarfly --q 3 --routing ugal-pff", "ugal-pf"),
        ("verify polarfly --q 3 --routing ugal-pf:thresholds=0.5", "threshold"),
        ("verify polarfly --q 3 --failures link", "links"),
        ("predict polarfly --q 3 --pattern tornad", "tornado"),
        ("predict polarfly --q 3 --pattern hotspot:host=3", "hosts"),
        ("run polarfly --q 3 --pattern allredcue", "allreduce"),
        ("run polarfly --q 3 --pattern allreduce:rings", "ring"),
        ("run polarfly --q 3 --pattern allreduce --placement clusters", "cluster"),
        ("run polarfly --q 3 --arrivals poison", "poisson"),
        ("sweep polarfly --q 3 --routings min,valliant", "valiant"),
        ("sweep polarfly --q 3 --patterns uniform,perm1hops", "perm1hop"),
    ],
)
def test_what_is_mistyped_gets_the_nearest_known_name(capsys, line, near):
    assert main(line.split()) == 2
    printed = capsys.readouterr().err
    assert f"did you mean '{near}'?" in printed
    assert printed.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        (
            "simulate PolarFly --q 3 --routing UGAL_PF:Threshold=0.5 --pattern Bit_Reverse",
            {"topology": "polarfly", "routing": "ugal-pf:threshold=0.5", "pattern": "bit-reverse"},
        ),
        (
            "simulate FatTree --arity 2 --levels 2 --routing NCA --pattern AllReduce:Ring",
            {"topology": "fat-tree", "routing": "nca", "pattern": "allreduce:ring"},
        ),
        ("run polarfly --q 3 --pattern Uniform --arrivals Poisson", {"arrivals": "poisson"}),
        ("simulate torus --shape 4x4 --pattern Halo2D:Grid=4x4", {"pattern": "halo2d:grid=4x4"}),
    ],
)
def test_names_are_known_in_any_case_and_with_or_without_hyphens(capsys, line, asked):
    assert main([*line.split(), "--print-config"]) == 0
    content = tomllib.loads(capsys.readouterr().out)
    found = {**content["topology"], **content["fabric"], **content["traffic"]}
    found["topology"] = found["name"]
    assert {key: found[key] for key in asked} == asked


def test_files_and_python_know_names_in_any_case(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        'version = 1\nkind = "simulate"\n[topology]\nname = "FAT_TREE"\narity = 2\nlevels = 2\n'
        '[traffic]\npattern = "UNIFORM"\n'
    )
    read = Experiment.from_toml(file)
    assert (read.family, read.values["pattern"]) == ("fat-tree", "uniform")
    words = {"topology": "PolarFly", "q": 3, "routings": "MIN,Ugal_PF", "patterns": "Tornado", "loads": 0.5}
    sweep = Experiment("sweep", {**words, "vary": ["UGALPF.Threshold=0.3,0.5"]}).resolve().sweep
    assert [point.name for point in sweep.points()] == [
        "min-tornado-0.5",
        "ugal-pf-threshold=0.3-tornado-0.5",
        "ugal-pf-threshold=0.5-tornado-0.5",
    ]
    assert make_topology("Fat_Tree", {"arity": 2, "levels": 2}).name == "fat-tree"


def test_a_specification_has_one_name_for_what_means_the_same():
    words = {"topology": "polarfly", "q": 3, "loads": 0.5}
    listed = {"routings": ["min", "ugal-pf:0.5", "ugal-pf:threshold=1/2"], "patterns": "shift:2,shift:by=2"}
    sweep = Experiment("sweep", {**words, **listed}).resolve().sweep
    assert (sweep.routings, sweep.patterns) == (("min", "ugal-pf:threshold=0.5"), ("shift:by=2",))
    assert [point.name for point in sweep.points()] == [
        "min-shift-by=2-0.5",
        "ugal-pf-threshold=0.5-shift-by=2-0.5",
    ]
    words = {"topology": "polarfly", "q": 2, "routing": "ugal-pf:0.5", "pattern": "perm1hop:seed=07"}
    run = Experiment("run", words).resolve()
    assert (run.fabric.routing, run.traffic.pattern) == ("ugal-pf:threshold=0.5", "perm1hop:7")
    simulation = Experiment("simulate", words).resolve()
    assert (simulation.fabric.routing, simulation.traffic.pattern) == ("ugal-pf:threshold=0.5", "perm1hop:7")

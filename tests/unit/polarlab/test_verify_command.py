"""`polarlab verify` and `polarlab rules`: proofs, faults on standard error, and readable rules."""

import json

import networkx as nx
import pytest
from support.fixtures.command_line import fails, prints_json, unnamed

import polarlab
from polarlab.api.analysis.deadlocks import write_certificate
from polarlab.cli import main as entry
from topology.errors import Status
from topology.families.low_diameter.polarfly import PolarFly
from topology.registry import FAMILIES

# The outside contract's keys.
VERIFY_KEYS = {
    *("pairs", "scenarios", "delivered", "max_hops", "loops", "blackholes", "flows_per_switch_max"),
    *("groups_per_switch_max", "buckets_per_switch_max", "seconds"),
}


def test_verify_prints_one_json_object(capsys):
    result = prints_json(capsys, "verify polarfly --q 3 --hosts 2 --json")
    assert set(result) >= VERIFY_KEYS
    assert (result["pairs"], result["delivered"], result["scenarios"]) == (650, 650, 1)
    assert (result["loops"], result["blackholes"], result["max_hops"]) == (0, 0, 2)
    assert (result["flows_per_switch_max"], result["groups_per_switch_max"]) == (60, 12)
    assert result["ok"] is True


def test_verify_without_local_repair_is_negative_and_names_faults(capsys):
    arguments = ["verify", "polarfly", "--q", "3", "--failures", "links", "--no-local-repair", "--json"]
    assert entry.main(arguments) == Status.NEGATIVE
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert set(result) >= VERIFY_KEYS
    assert result["scenarios"] == 25
    assert result["blackholes"] > 0
    assert result["ok"] is False
    lines = err.splitlines()
    assert 1 < len(lines) <= 21
    assert all(line.startswith("polarlab: ") for line in lines)
    assert all("blackhole" in line for line in lines[:-1])


@pytest.mark.parametrize("failures", ["links", "switches"])
def test_every_single_failure_is_survived(capsys, failures):
    result = prints_json(capsys, f"verify polarfly --q 2 --failures {failures} --json")
    assert result["scenarios"] == {"links": 10, "switches": 8}[failures]
    assert (result["loops"], result["blackholes"], result["cut_off"]) == (0, 0, 0)
    assert result["max_hops"] <= 5


# Proofs of these take a second or more, and tests of routings prove plans of their families.
LARGE_EXAMPLES = ("bundlefly", "spectralfly", "torus", "polarstar", "dragonfly3", "megafly", "slimfly")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in LARGE_EXAMPLES else ())
        for name in sorted(FAMILIES)
    ],
)
def test_every_example_of_the_list_runs_through_verify(capsys, name):
    listed = {family["name"]: family for family in prints_json(capsys, "topology --list --json")["families"]}
    result = prints_json(capsys, f"verify {listed[name]['example']} --failures links --json")
    assert result["ok"]
    assert result["unprotected"] == 0
    assert bool(result["cut_off"]) == (name == "tree")  # the only one that a link can cut
    assert result["delivered"] + result["cut_off"] == result["pairs"] * result["scenarios"]


def test_pairs_without_a_backup_path_are_listed(capsys, tmp_path):
    chord = [(n, (n + 1) % 10) for n in range(10)] + [(0, 5)]
    (tmp_path / "chord.edges").write_text("".join(f"{a} {b}\n" for a, b in chord))
    arguments = ["verify", "graph", "--from", str(tmp_path / "chord.edges"), "--failures", "switches"]
    assert entry.main([*arguments, "--json"]) == Status.NEGATIVE
    printed = capsys.readouterr()
    result = json.loads(printed.out)
    assert result["blackholes"] > 0
    assert len(result["unprotected_pairs"]) == result["unprotected"] > 0
    names = " ".join(result["unprotected_pairs"][0])
    assert any(not unnamed(line, names) for line in printed.err.splitlines())
    assert entry.main([*arguments[:4], "--failures", "links"]) == Status.DONE


def test_a_ring_whose_repairs_are_too_long_goes_without(capsys, tmp_path):
    (tmp_path / "ring.edges").write_text("".join(f"{n} {(n + 1) % 44}\n" for n in range(44)))
    line = fails(capsys, f"verify graph --from {tmp_path}/ring.edges", Status.USAGE)
    assert not unnamed(line, "--no-local-repair")
    result = prints_json(capsys, f"verify graph --from {tmp_path}/ring.edges --no-local-repair --json")
    assert (result["ok"], result["max_hops"]) == (True, 22)


def test_the_rules_of_a_switch_can_be_read(capsys):
    result = prints_json(capsys, "rules polarfly --q 3 --routing ugal-pf s3 --json")
    assert any("10.0.4.0/255.255.255.0" in line for line in result["rules"])
    assert any("fast" in line and "port 2" in line for line in result["groups"])
    assert any("64 x [" in line for line in result["groups"])


def test_rules_can_be_read_for_the_surviving_graph(capsys):
    link = PolarFly(3).link_list[0]
    words = f"rules polarfly --q 3 s{link.a + 1} --json"
    without = f"{words} --without link:s{link.a + 1}-s{link.b + 1}"
    whole, left = prints_json(capsys, words), prints_json(capsys, without)
    assert whole["rules"] != left["rules"]
    assert whole["groups"] == left["groups"]


def test_a_circle_is_negative_and_printed_with_pairs(capsys, tmp_path):
    figure = tmp_path / "circle.png"
    words = f"verify polarfly --q 3 --deadlock --figure {figure} --json"
    assert entry.main(words.split()) == Status.NEGATIVE
    out, err = capsys.readouterr()
    result = json.loads(out)["deadlock"]
    assert (result["acyclic"], result["channels"], result["channels_by_hop"]) == (False, 48, 2)
    assert [one["link"] for one in result["cycle"]] == ["s1-s10", "s10-s3", "s3-s5", "s5-s12", "s12-s1"]
    assert "polarlab: s12-s1 is held by packets h12_1 to h10_1, which wait for s1-s10\n" in err
    assert figure.stat().st_size > 10_000


def test_the_certificate_orders_all_channels(capsys, tmp_path):
    path = tmp_path / "order.csv"
    words = f"verify polarfly --q 3 --deadlock --virtual-channels hop:2 --count-layers --certificate {path}"
    result = prints_json(capsys, f"{words} --json")["deadlock"]
    assert (result["acyclic"], result["cycle"], result["virtual_channels"]) == (True, [], 2)
    assert result["layers"] == 2
    header, *lines = path.read_text().splitlines()
    assert header == "link,port,virtual_channel,rank"
    rows = [line.split(",") for line in lines]
    assert len(rows) == result["channels"] == 96
    assert all((virtual == "1") >= (int(rank) > 0) for _, _, virtual, rank in rows)
    assert [row[:3] for row in rows[:4]] == [
        [f"s1-s{head}", str(port), virtual] for port, head in ((1, 10), (2, 11)) for virtual in ("0", "1")
    ]


def test_the_certificate_tells_parallel_links_apart(tmp_path):
    doubled = nx.MultiGraph([(0, 1), (0, 1), (1, 2)])
    proof = polarlab.prove_deadlock_freedom(polarlab.plan(polarlab.from_networkx(doubled), "up-down"))
    write_certificate(proof, tmp_path / "order.csv")
    rows = [line.split(",") for line in (tmp_path / "order.csv").read_text().splitlines()[1:]]
    assert len(rows) == len({tuple(row[:3]) for row in rows}) == 6


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"virtual_channels": 2}, "virtual-channels must be one, or hop:N"),
        ({"virtual_channels": None}, "virtual-channels must be one, or hop:N"),
        ({"virtual_channels": ""}, "virtual-channels must be one, or hop:N"),
        ({"virtual_channels": "hop:٣"}, "virtual-channels must be one, or hop:N"),
        ({"failures": 3}, "failures must be one of none, links, switches, got 3"),
        ({"layers": "x"}, "layers must be True or False, got 'x'"),
        ({"layers": True, "failures": "links"}, "failures must be none for layers"),
    ],
)
def test_wrong_arguments_of_proofs_in_python_are_one_line(wrong, message):
    with pytest.raises(polarlab.UsageError, match=message):
        polarlab.prove_deadlock_freedom(polarlab.plan(polarlab.topology("polarfly", q=2)), **wrong)


def test_every_failure_is_judged_by_itself_and_the_worst_is_told(capsys):
    words = "verify polarfly --q 3 --routing ugal-pf --deadlock --virtual-channels hop:4 --failures links"
    result = prints_json(capsys, f"{words} --json")["deadlock"]
    assert (result["acyclic"], result["scenarios"], result["failures_with_circles"]) == (True, 25, [])
    words = "verify dragonfly --a 4 --h 2 --trunking 2 --routing two-color --deadlock --failures links --json"
    result = prints_json(capsys, words, Status.NEGATIVE)["deadlock"]
    assert result["failure"] in result["failures_with_circles"]
    assert "none" not in result["failures_with_circles"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--virtual-channels hop:2", "--virtual-channels --deadlock"),
        ("--figure circle.png", "--figure --deadlock"),
        ("--deadlock --virtual-channels hop:0", "one hop:N 64 hop:0"),
        ("--deadlock --virtual-channels two", "one hop:N 64 two"),
        ("--deadlock --routing ugal-pf --count-layers", "layers one ugal-pf"),
        ("--deadlock --certificate order.csv --failures links", "none certificate links"),
        ("--deadlock --figure circle.txt", "circle.txt"),
        ("--deadlock --certificate order.txt", ".csv order.txt"),
        ("--deadlock --count-layers --failures links", "layers none links"),
    ],
)
def test_wrong_options_of_deadlock_proofs_are_one_line(capsys, tmp_path, monkeypatch, words, named):
    monkeypatch.chdir(tmp_path)
    line = fails(capsys, f"verify polarfly --q 3 {words}", Status.USAGE)
    assert unnamed(line, named) == []
    assert not [*tmp_path.iterdir()]


def test_a_proof_that_does_not_fit_into_memory_is_refused_before_it_begins(capsys, monkeypatch):
    monkeypatch.setattr("polarlab.api.analysis.deadlocks.available_memory_bytes", lambda: 1000)
    line = fails(capsys, "verify polarfly --q 3 --deadlock", Status.MACHINE)
    assert unnamed(line, "13 min memory GiB") == []


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("polarfly", "dragonfly", "fat-tree") else pytest.mark.slow)
        for name in sorted(FAMILIES)
        if name != "graph"
    ],
)
def test_every_example_is_free_of_circles_under_up_down(capsys, name):
    example = prints_json(capsys, "topology --list --json")["families"]
    [words] = [one["example"] for one in example if one["name"] == name]
    result = prints_json(capsys, f"verify {words} --routing up-down --deadlock --json")["deadlock"]
    assert (result["acyclic"], result["channels_by_hop"]) == (True, 1)


def test_ordered_repairs_have_no_circle_and_list_what_they_do_not_protect(capsys):
    words = ["verify", "polarfly", "--q", "3", "--routing", "up-down", "--failures", "links", "--deadlock"]
    assert entry.main([*words, "--ordered-repair", "--json"]) == Status.NEGATIVE
    printed = capsys.readouterr()
    ordered = json.loads(printed.out)
    assert ordered["deadlock"]["acyclic"] is True
    assert ordered["deadlock"]["scenarios"] == 25
    assert (ordered["unprotected"], ordered["loops"], ordered["over_bound"]) == (62, 0, 0)
    assert ordered["blackholes"] > 0
    assert "has no backup path to" in printed.err
    assert entry.main([*words, "--json"]) == Status.NEGATIVE
    usual = json.loads(capsys.readouterr().out)
    assert (usual["deadlock"]["acyclic"], usual["unprotected"], usual["blackholes"]) == (False, 0, 0)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--routing up-down --no-local-repair", "--ordered-repair and --no-local-repair cannot be combined"),
        ("--routing min", "got min with a cycle of 5 channels; try up-down"),
        ("--routing ugal-pf", "without detours, got ugal-pf"),
    ],
)
def test_repairs_that_cannot_be_ordered_are_wrong_use(capsys, words, named):
    assert named in fails(capsys, f"verify polarfly --q 3 --ordered-repair {words}", Status.USAGE)

"""`polarlab verify` and `polarlab rules`: proofs, faults on standard error, and readable rules."""

import json

import pytest
from command_line import fails, prints_json, unnamed

from polarlab.cli import main as entry
from topology.exit_status import Status
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


# Proofs of these take seconds.
LARGE_EXAMPLES = ("bundlefly", "spectralfly", "torus")


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
    assert result["delivered"] == result["pairs"] * result["scenarios"]


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

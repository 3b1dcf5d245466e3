"""The command line: options read and checked, exit statuses, one line per error, one JSON object."""

import argparse
import errno
import json
import signal
import tempfile

import pytest

import emulation.requirements
from experiments.errors import Status, Terminated, known_status
from experiments.spec.fabric import (
    add_fabric_arguments,
    add_impairment_arguments,
    add_routing_argument,
    read_fabric,
)
from experiments.spec.sweep import parse_loads
from experiments.spec.traffic import (
    TrafficOptions,
    add_faults_argument,
    add_traffic_arguments,
    read_traffic,
)
from polarlab.cli import main as entry
from polarlab.cli import parser as cli
from topology.errors import MachineError, NegativeResult, ParameterError, PolarLabError, UsageError
from topology.families.polarfly import PolarFly
from topology.registry import FAMILIES

# What the outside contract promises.
TOPOLOGY_KEYS = {
    *("name", "params", "routers", "links", "degrees", "diameter", "average_path_length"),
    *("moore_efficiency", "endpoints"),
}
VERIFY_KEYS = {
    *("pairs", "scenarios", "delivered", "max_hops", "loops", "blackholes", "flows_per_switch_max"),
    *("groups_per_switch_max", "buckets_per_switch_max", "seconds"),
}


@pytest.fixture(autouse=True)
def no_fabric(monkeypatch):
    """No test of this module launches anything, whoever runs it; signals stay as they were."""

    def refuse() -> None:
        raise MachineError("this test has no machine")

    monkeypatch.setattr(emulation.requirements, "require_emulation", refuse)
    monkeypatch.setattr(emulation.requirements, "require_root", refuse)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


def fails(capsys, arguments: str | list[str], status: int) -> str:
    """Runs a command line that fails and returns its one line on standard error."""
    words = arguments.split() if isinstance(arguments, str) else arguments
    assert entry.main(words) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("polarlab: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    return err


def prints_json(capsys, arguments: str, status: int = 0) -> dict:
    """Runs a command line that prints exactly one JSON object on standard output."""
    assert entry.main(arguments.split()) == status
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    result = json.loads(out)
    assert isinstance(result, dict)
    return result


# ---- wrong use ----


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "COMMAND"),
        ("fly", "invalid choice: 'fly'"),
        ("topology", "polarlab topology --list"),
        ("topology torus --q 3", f"unknown topology 'torus'; there are: {', '.join(sorted(FAMILIES))}"),
        ("topology polarfly", "polarfly needs --q, as in: polarfly --q 7"),
        ("topology polarfly --q 6", "q = 6 is no prime power; the nearest possible orders are 5 and 7"),
        ("topology polarfly --q 1", "q = 1 is no prime power; the nearest possible order is 2"),
        ("topology polarfly --q 0", "q = 0 is no prime power; the nearest possible order is 2"),
        ("topology polarfly --q -3", "q = -3 is no prime power; the nearest possible order is 2"),
        ("topology polarfly --q 129", "q = 129 is over 128; the nearest possible order is 128"),
        ("topology polarfly --q x", "--q: invalid int value: 'x'"),
        ("topology polarfly --q 7.5", "--q: invalid int value: '7.5'"),
        ("topology polarfly --q 3 --hosts 0", "hosts per router must be 1 to 254, got 0"),
        ("topology polarfly --q 3 --nonsense", "unrecognized arguments: --nonsense"),
        (
            "topology polarfly --q 3 --export dot g",
            "there are: adjlist, booksim, graphml, json, sst",
        ),
        ("topology polarfly --q 3 --export json", "--export"),
        ("verify polarfly --q 6", "q = 6 is no prime power"),
        ("verify polarfly --q 3 --hosts 0", "hosts per router must be 1 to 254, got 0"),
        ("verify polarfly --q 3 --hosts 255", "hosts per router must be 1 to 254, got 255"),
        (
            "verify polarfly --q 3 --routing best",
            "unknown routing 'best'; there are: compact-valiant, min",
        ),
        ("verify polarfly --q 3 --failures all", "unknown failures 'all'; there are: none, links, switches"),
        ("up polarfly --q 3 --hosts 0", "hosts per router must be 1 to 254, got 0"),
        ("up polarfly --q 3 --routing best", "unknown routing 'best'"),
        ("up polarfly --q 3 --link-rate 0", "'0' is no rate; write it like 2Mbit or 500kbit"),
        ("up polarfly --q 3 --link-rate 0Mbit", "a link's rate must be 10 kbit/s to 10 Gbit/s, got 0 bit/s"),
        ("up polarfly --q 3 --link-rate 1e6Gbit", "'1e6Gbit' is no rate"),
        ("up polarfly --q 3 --link-rate 1000000Gbit", "a link's rate must be 10 kbit/s to 10 Gbit/s"),
        ("up polarfly --q 3 --queue 0", "a queue must hold 1 to 100000 packets, got 0"),
        ("up polarfly --q 3 --datapath fast", "unknown datapath 'fast'; there are: auto, kernel, user"),
        ("up polarfly --q 3 --link-delay -1", "a link's delay must be 0 to 10000 ms, got -1"),
        ("up polarfly --q 3 --link-delay 5ms", "--link-delay: invalid float value: '5ms'"),
        ("run polarfly --q 3 --link-loss 1", "a link's loss must be 0 to 0.5 (a fraction), got 1"),
        ("run polarfly --q 6", "q = 6 is no prime power"),
        (
            "run polarfly --q 3 --pattern all",
            "unknown pattern 'all'; there are: adversarial, bit-complement",
        ),
        ("run polarfly --q 3 --load 0", "a load must be over 0 and at most 1, got 0"),
        ("run polarfly --q 3 --load 1.5", "a load must be over 0 and at most 1, got 1.5"),
        ("run polarfly --q 3 --load -1", "a load must be over 0 and at most 1, got -1"),
        ("run polarfly --q 3 --load nan", "a load must be over 0 and at most 1, got nan"),
        ("run polarfly --q 3 --load much", "--load: invalid float value: 'much'"),
        ("run polarfly --q 3 --link-rate 0", "'0' is no rate"),
        ("run polarfly --q 3 --link-rate 1e6Gbit", "'1e6Gbit' is no rate"),
        ("run polarfly --q 3 --frame-bytes 93", "a frame must have 94 to 1514 bytes, got 93"),
        ("run polarfly --q 3 --frame-bytes 1515", "a frame must have 94 to 1514 bytes, got 1515"),
        ("run polarfly --q 3 --flows 0", "--flows must be 1 to 4096, got 0"),
        ("run polarfly --q 3 --flows 4097", "--flows must be 1 to 4096, got 4097"),
        ("run polarfly --q 3 --duration 0", "--duration must be 0.1 to 86400, got 0"),
        ("run polarfly --q 3 --duration nan", "--duration must be 0.1 to 86400, got nan"),
        ("run polarfly --q 3 --duration inf", "--duration must be 0.1 to 86400, got inf"),
        ("run polarfly --q 3 --warmup -1", "--warmup must be 0 to 3600, got -1"),
        ("run polarfly --q 3 --seed -1", "--seed must be 0 to"),
        ("plot", "RESULTS"),
        ("plot nowhere", "nowhere is no folder of results"),
        ("clean --all", "unrecognized arguments: --all (see `polarlab clean --help`)"),
        ("explain polarfly --q 7 --hosts 3 s1 s2", "unrecognized arguments: --hosts (see `polarlab explain"),
        ("patterns all", "unrecognized arguments: all"),
        ("rules polarfly --q 3 --without controller s1", "--without is for links and switches"),
        ("rules polarfly --q 3 --without switch:s1 s1", "s1 is what is to be left out"),
    ],
)
def test_wrong_use_is_told_in_one_line(capsys, arguments, message):
    assert message in fails(capsys, arguments, Status.USAGE)


@pytest.mark.parametrize("arguments", ["up polarfly --q 3", "run polarfly --q 3", "clean"])
def test_a_machine_that_lacks_something_is_told_in_one_line(capsys, arguments):
    assert fails(capsys, arguments, Status.MACHINE) == "polarlab: this test has no machine\n"


def test_help_names_every_command(capsys):
    with pytest.raises(SystemExit) as ended:
        entry.main(["--help"])
    assert ended.value.code == 0
    out, err = capsys.readouterr()
    assert err == ""
    for name in ("topology", "verify", "up", "run", "plot", "clean"):
        assert f"    {name} " in out


# ---- topology ----


def test_topology_prints_one_json_object(capsys):
    result = prints_json(capsys, "topology polarfly --q 3 --hosts 2 --json")
    assert set(result) >= TOPOLOGY_KEYS
    assert result["name"] == "polarfly"
    assert result["params"] == {"q": 3}
    assert (result["routers"], result["links"], result["degrees"]) == (13, 24, {"3": 4, "4": 9})
    assert (result["diameter"], result["average_path_length"]) == (2, 1.692308)
    assert result["moore_efficiency"] == pytest.approx(13 / 17, abs=1e-6)
    assert result["endpoints"] == 26


def test_topology_is_readable_without_json(capsys):
    assert entry.main(["topology", "polarfly", "--q", "7"]) == Status.DONE
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert (lines["routers"], lines["links"], lines["degrees"]) == ("57", "224", "7: 8, 8: 49")


def test_topology_exports_beside_its_result(capsys, tmp_path):
    path = tmp_path / "g.json"
    result = prints_json(capsys, f"topology polarfly --q 3 --json --export json {path}")
    assert len(json.loads(path.read_text())["links"]) == result["links"]


def test_export_over_an_existing_file_is_refused(capsys, tmp_path):
    path = tmp_path / "g.json"
    path.write_text("precious")
    assert "exists already" in fails(
        capsys, ["topology", "polarfly", "--q", "3", "--export", "json", str(path)], Status.USAGE
    )
    assert path.read_text() == "precious"


# ---- verify ----


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
    faults = err.splitlines()
    assert 0 < len(faults) <= 21
    assert faults[-1] == "polarlab: these are the first; there may be more"
    assert all(line.startswith("polarlab: h") and "blackhole at s" in line for line in faults[:-1])


@pytest.mark.parametrize("failures", ["links", "switches"])
def test_every_single_failure_is_survived(capsys, failures):
    result = prints_json(capsys, f"verify polarfly --q 2 --failures {failures} --json")
    assert result["scenarios"] == {"links": 10, "switches": 8}[failures]
    assert (result["loops"], result["blackholes"], result["cut_off"]) == (0, 0, 0)
    assert result["max_hops"] <= 5


def test_the_rules_of_a_switch_can_be_read(capsys):
    result = prints_json(capsys, "rules polarfly --q 3 --routing ugal-pf s3 --json")
    assert any("10.0.4.0/255.255.255.0 -> " in line for line in result["rules"])
    assert any("fast" in line and "while port 2 is up" in line for line in result["groups"])
    assert any("64 x [" in line and "may be pointed at" in line for line in result["groups"])


def test_rules_can_be_read_for_what_a_failure_leaves(capsys):
    link = PolarFly(3).link_list[0]
    words = f"rules polarfly --q 3 s{link.a + 1} --json"
    without = f"{words} --without link:s{link.a + 1}-s{link.b + 1}"
    whole, left = prints_json(capsys, words), prints_json(capsys, without)
    assert whole["rules"] != left["rules"]
    assert whole["groups"] == left["groups"]


# ---- other ends ----


def command_that_raises(monkeypatch, error: BaseException) -> None:
    def run(_arguments):
        raise error

    monkeypatch.setattr(cli, "run", run)


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (NegativeResult("lost"), 1, "lost"),
        (UsageError("no such thing"), 2, "no such thing"),
        (ParameterError("out of range"), 2, "out of range"),
        (MachineError("no room"), 3, "no room"),
        (OSError(errno.ENOSPC, "No space left on device", "f"), 3, "no room left to write f"),
        (OSError(errno.EDQUOT, "Quota exceeded"), 3, "no room left to write all that was to be written"),
        (OSError(errno.EACCES, "Permission denied", "f"), 3, "f cannot be written (Permission denied)"),
        (OSError(errno.EROFS, "Read-only", "f"), 3, "f cannot be written (Read-only)"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (Terminated(), 130, "interrupted"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_errors_have_their_status_and_line(capsys, monkeypatch, error, status, line):
    command_that_raises(monkeypatch, error)
    assert fails(capsys, "topology", status) == f"polarlab: {line}\n"


@pytest.mark.parametrize(
    ("error", "text"),
    [(RuntimeError("two\nlines"), "RuntimeError: two lines"), (PolarLabError("failed"), "failed")],
)
def test_an_internal_error_is_one_line_that_names_the_log_with_its_traceback(
    capsys, monkeypatch, tmp_path, error, text
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    command_that_raises(monkeypatch, error)
    line = fails(capsys, "topology", Status.INTERNAL)
    [log] = tmp_path.iterdir()
    assert line == f"polarlab: {text} (details in {log})\n"
    assert "Traceback" in log.read_text()


def test_an_unknown_error_has_no_known_status():
    assert known_status(ValueError("x")) is None
    assert known_status(OSError(errno.ENOENT, "No such file")) is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_end_the_command_as_interrupted(capsys, monkeypatch, number):
    monkeypatch.setattr(cli, "run", lambda _arguments: signal.raise_signal(number))
    assert fails(capsys, "topology", Status.INTERRUPTED) == "polarlab: interrupted\n"


# ---- options ----


def parsed(arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_fabric_arguments(parser)
    add_impairment_arguments(parser)
    add_routing_argument(parser)
    add_traffic_arguments(parser)
    add_faults_argument(parser)
    return parser.parse_args(arguments.split())


def test_options_of_a_fabric():
    fabric = read_fabric(parsed("polarfly --q 3 --hosts 2 --link-rate 500kbit --queue 8 --datapath user"))
    assert (fabric.name, fabric.params, fabric.topology.routers) == ("polarfly", {"q": 3}, 13)
    assert (fabric.hosts, fabric.routing, fabric.datapath) == (2, "min", "user")
    assert (fabric.shape.rate_bps, fabric.shape.queue_packets) == (500_000, 8)


def test_documented_defaults():
    arguments = parsed("polarfly --q 3")
    fabric, traffic = read_fabric(arguments), read_traffic(arguments, PolarFly(3))
    assert (fabric.hosts, fabric.routing, fabric.datapath) == (1, "min", "auto")
    assert (fabric.shape.rate_bps, fabric.shape.queue_packets) == (2_000_000, 32)
    assert (traffic.frame_bytes, traffic.flows, traffic.pattern) == (1000, 64, "uniform")


def test_options_of_traffic():
    traffic = read_traffic(
        parsed(
            "polarfly --q 3 --pattern uniform --load 1 --frame-bytes 94 --flows 4096 --duration 0.1 "
            "--warmup 0 --seed 0"
        ),
        PolarFly(3),
    )
    assert traffic == TrafficOptions("uniform", 1.0, 94, 4096, 0.0, 0.1, 0)


@pytest.mark.parametrize(
    ("text", "loads"),
    [
        ("0.1,0.5", (0.1, 0.5)),
        ("0.5, 0.1,0.5", (0.1, 0.5)),
        ("0.1:0.9:0.2", (0.1, 0.3, 0.5, 0.7, 0.9)),
        ("0.1:1:0.4", (0.1, 0.5, 0.9)),
        ("0.5:0.5:0.1", (0.5,)),
        ("0.3333333333", (0.333333,)),
        ("1", (1.0,)),
    ],
)
def test_loads_of_a_sweep(text, loads):
    assert parse_loads(text) == loads


@pytest.mark.parametrize(
    "text",
    ["", "a", "0.1:0.9", "0.9:0.1:0.1", "0.1:0.9:0", "0.1:0.9:1e-9", "0.1:1e12:0.1", "nan", "0", "1.1"],
)
def test_loads_that_are_none(text):
    with pytest.raises(ParameterError):
        parse_loads(text)


# ---- other fabrics ----


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_every_example_of_the_list_runs_through_verify(capsys, name):
    listed = {family["name"]: family for family in prints_json(capsys, "topology --list --json")["families"]}
    result = prints_json(capsys, f"verify {listed[name]['example']} --failures links --json")
    assert result["ok"]
    assert result["unprotected"] == 0
    assert result["delivered"] == result["pairs"] * result["scenarios"]


def test_what_nothing_protects_is_listed(capsys, tmp_path):
    chord = [(n, (n + 1) % 10) for n in range(10)] + [(0, 5)]
    (tmp_path / "chord.edges").write_text("".join(f"{a} {b}\n" for a, b in chord))
    arguments = ["verify", "graph", "--from", str(tmp_path / "chord.edges"), "--failures", "switches"]
    assert entry.main([*arguments, "--json"]) == Status.NEGATIVE
    said = capsys.readouterr()
    result = json.loads(said.out)
    assert result["blackholes"] > 0
    assert len(result["unprotected_pairs"]) == result["unprotected"] > 0
    router, destination, element = result["unprotected_pairs"][0]
    assert f"polarlab: {router} knows no way to {destination} while {element} is dead" in said.err
    assert entry.main([*arguments[:4], "--failures", "links"]) == Status.DONE


def test_how_many_rules_masks_save_is_printed(capsys):
    result = prints_json(capsys, "topology polarstar --radix 15 --json")
    assert result["next_hop_rules"] == {"with_masks": 223, "one_per_router": 1063}


def test_a_fabric_is_drawn_and_a_file_that_exists_is_refused(capsys, tmp_path):
    path = tmp_path / "fabric.svg"
    assert entry.main(["topology", "slimfly", "--q", "3", "--figure", str(path)]) == Status.DONE
    assert "slimfly (q = 3): 18 routers, 45 links" in path.read_text()
    assert entry.main(["topology", "slimfly", "--q", "3", "--figure", str(path)]) == Status.USAGE
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize("routing", ["min", "ugal"])
def test_more_routers_than_tags_are_refused_at_once_and_their_graph_is_not(capsys, routing):
    said = fails(capsys, f"verify polarfly --q 64 --routing {routing}", Status.USAGE)
    assert "4161 routers are more than the 4094 that tags can name" in said
    assert prints_json(capsys, "topology polarfly --q 64 --json")["routers"] == 4161


def test_a_command_that_is_refused_writes_nothing(capsys, tmp_path):
    graph, figure = tmp_path / "a.json", tmp_path / "a.pdf"
    fails(capsys, f"topology polarfly --q 3 --export json {graph} --figure {figure}", Status.USAGE)
    fails(capsys, f"topology polarfly --q 3 --export json {graph} --figure {tmp_path}/no/a.png", Status.USAGE)
    same = tmp_path / "same.svg"
    fails(capsys, f"topology polarfly --q 3 --export json {same} --figure {same}", Status.USAGE)
    fails(capsys, f"topology polarstar --radix 15 --designs --export json {graph}", Status.USAGE)
    assert list(tmp_path.iterdir()) == []


def test_a_radix_is_told_as_the_design_that_it_is(capsys):
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


def test_a_ring_whose_repairs_are_too_long_goes_without(capsys, tmp_path):
    (tmp_path / "ring.edges").write_text("".join(f"{n} {(n + 1) % 44}\n" for n in range(44)))
    said = fails(capsys, f"verify graph --from {tmp_path}/ring.edges", Status.USAGE)
    assert "try --no-local-repair" in said
    result = prints_json(capsys, f"verify graph --from {tmp_path}/ring.edges --no-local-repair --json")
    assert (result["ok"], result["max_hops"]) == (True, 22)


def test_prediction_checks_its_seed(capsys):
    fails(capsys, "predict polarfly --q 3 --pattern random-permutation --seed -1", Status.USAGE)

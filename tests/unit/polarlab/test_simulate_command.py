"""`polarlab simulate` and `saturation`: what they print, and how they end."""

import json
import subprocess
import sys

import pytest
from support.builders.damaged_plans import damaged
from support.fixtures.command_line import fails, prints_json

import polarlab
from experiments import planned_fabric
from experiments.simulation import saturation
from polarlab.cli import main as entry
from routing.registry import make_plan
from topology.errors import Status

pytestmark = pytest.mark.usefixtures("compiled_kernels")

SHORT = "polarfly --q 3 --hosts 2 --warmup 500 --cycles 1500"


def test_json_has_the_keys_of_a_run(capsys, tmp_path):
    result = prints_json(capsys, f"simulate {SHORT} --load 0.3 --out {tmp_path / 'one'} --json")
    keys = {"name", "params", "routing", "pattern", "hosts", "offered", "accepted", "loss", "hops", "seed"}
    keys |= {"versions", "predicted", "cycles", "stable", "latency_cycles", "latency_frame_times"}
    assert keys <= set(result)
    assert result["latency_ms"] is None
    assert result == json.loads((tmp_path / "one" / "summary.json").read_text())
    figures = {path.name for path in (tmp_path / "one").glob("*.png")}
    assert figures == {"throughput.png", "latency.png", "links.png"}


def test_another_process_draws_all_figures(tmp_path):
    """Here, where matplotlib is loaded, the command draws by itself: its own process has to be tried."""
    folder = tmp_path / "one"
    words = [
        sys.executable,
        "-m",
        "polarlab",
        "simulate",
        *SHORT.split(),
        "--load",
        "0.3",
        "--out",
        str(folder),
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    names = {f"{name}.{ending}" for name in ("throughput", "latency", "links") for ending in ("png", "svg")}
    assert {path.name for path in folder.iterdir() if path.suffix in (".png", ".svg")} == names
    assert all(name in done.stderr for name in names)


def test_a_deadlock_ends_with_status_1_and_its_circle(capsys, tmp_path):
    words = f"simulate {SHORT} --load 1 --channel-policy any --virtual-channels 1"
    words += f" --buffer-flits 4 --cycles 20000 --out {tmp_path / 'stuck'}"
    assert entry.main([*words.split(), "--json"]) == Status.NEGATIVE
    out, err = capsys.readouterr()
    result = json.loads(out)
    deadlock = result["deadlock"]
    assert result["measured_cycles"] == max(0, result["cycles"] - 500) < 20_000
    circle = deadlock["circle"]
    assert len(circle) == len(deadlock["channels"]) > 1
    assert f"polarlab: deadlock in cycle {deadlock['cycle']}: {deadlock['waiting']} packets wait" in err
    assert f" -> {circle[0]} (channel 0)\n" in err


def test_faults_are_told_counted_and_carried_out_again(capsys, tmp_path):
    schedule = tmp_path / "faults.txt"
    schedule.write_text("800 fail link:s1-s10\n900 fail switch:s7\n1500 restore switch:s7\n")
    words = f"simulate {SHORT} --load 0.5 --faults {schedule} --replan-cycles 200"
    assert entry.main([*words.split(), "--out", str(tmp_path / "one"), "--json"]) == Status.DONE
    out, err = capsys.readouterr()
    result = json.loads(out)
    faults = result["faults"]
    assert [one["cycle"] for one in faults["done"]] == [800, 900, 1500]
    assert [one["cycle"] for one in faults["replanned"]] == [1000, 1100, 1700]
    assert sum(one["lost_packets"] for one in faults["done"]) == result["packets"]["dropped"] > 0
    assert "cycle 900: fail switch:s7" in err
    assert "--virtual-channels 5" in err
    rows = (tmp_path / "one" / "periods.csv").read_text().splitlines()
    assert rows[0].endswith(",dropped_packets")
    dropped = {int(row.split(",")[0]): int(row.split(",")[-1]) for row in rows[1:]}
    assert dropped[800] == dropped[1600] == 0 < dropped[1000]
    schedule.unlink()
    again = prints_json(capsys, f"simulate --again {tmp_path / 'one'} --out {tmp_path / 'two'} --json")
    assert again["faults"] == faults
    text = (tmp_path / "two" / "manifest.json").read_text()
    assert json.loads(text)["traffic"]["faults"][0] == "800 fail link:s1-s10"
    assert entry.main(["report", str(tmp_path / "two")]) == Status.DONE
    assert "the controller&#39;s plan without s1-s10, s7" in (tmp_path / "two" / "report.html").read_text()


def test_the_controllers_law_has_all_parameters_of_the_routing(tmp_path):
    given = {"q": 3, "hosts": 2, "warmup": 500, "cycles": 1500, "pattern": "tornado", "load": 0.6}
    found, told = [], []
    for number, name in enumerate(("ugal-pf", "ugal-pf:margin=0.2,threshold=0.3,rest-detoured=0")):
        done = polarlab.simulate(
            "polarfly",
            **given,
            decision="buckets:period=40",
            routing=name,
            out=tmp_path / str(number),
            progress=told.append,
        )
        found.append(done.summary.detoured)
    assert not any("does not have" in str(event) for event in told)
    assert 0 < found[0] < found[1]


def test_a_plan_that_fails_its_proof_is_not_simulated(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(
        planned_fabric, "make_plan", lambda *asked, **more: damaged(make_plan(*asked, **more), 1)
    )
    message = fails(capsys, f"simulate {SHORT} --out {tmp_path / 'none'}", Status.NEGATIVE)
    assert "fails its proof and is not simulated" in message
    assert not list(tmp_path.iterdir())


def test_a_folder_that_holds_files_is_refused(capsys, tmp_path):
    (tmp_path / "mine").touch()
    assert "is not empty" in fails(capsys, f"simulate {SHORT} --out {tmp_path}", Status.USAGE)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_too_few_channels_are_refused_with_the_number_that_is_needed(capsys, tmp_path):
    words = f"simulate {SHORT} --routing valiant --virtual-channels 2 --out {tmp_path / 'none'}"
    assert "virtual-channels must be 4" in fails(capsys, words, Status.USAGE)
    assert not list(tmp_path.iterdir())


def test_an_unstable_network_is_a_result_and_told(capsys, tmp_path):
    words = f"simulate {SHORT} --load 1 --pattern tornado --out {tmp_path / 'full'}"
    assert entry.main(words.split()) == Status.DONE
    assert "not stable: accepted" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["", "--json"])
def test_saturation_prints_its_points(capsys, words):
    assert entry.main(f"saturation {SHORT} --pattern tornado --precision 0.25 {words}".split()) == Status.DONE
    out, err = capsys.readouterr()
    assert "load 0.5: " in err
    if words:
        assert {point["load"] for point in json.loads(out)["points"]} >= {0.5}
    else:
        assert "latency_cycles" in out


@pytest.mark.parametrize("words", ["", "--json"])
def test_a_search_that_is_interrupted_before_its_first_load_says_so(capsys, monkeypatch, words):
    def interrupt(*_given):
        raise KeyboardInterrupt

    monkeypatch.setattr(saturation, "simulate_traffic", interrupt)
    assert entry.main(f"saturation {SHORT} {words}".split()) == Status.INTERRUPTED
    out = capsys.readouterr().out
    if words:
        result = json.loads(out)
        assert (result["interrupted"], result["points"], result["saturation"]) == (True, [], 0)
    else:
        assert "interrupted" in out


@pytest.mark.parametrize("traffic", ["--pattern allreduce:ring --message-bytes 4KiB", "--trace messages.csv"])
def test_applications_and_traces_have_no_faults(capsys, tmp_path, traffic):
    schedule = tmp_path / "faults.txt"
    schedule.write_text("1500 fail switch:s4\n")
    words = f"simulate polarfly --q 3 {traffic} --faults {schedule} --out {tmp_path / 'none'}"
    assert "--faults does not apply" in fails(capsys, words, Status.USAGE)


def test_no_quantile_of_latency_is_above_the_longest(tmp_path):
    given = {"q": 3, "hosts": 2, "warmup": 500, "cycles": 1500, "pattern": "tornado", "load": 1}
    latency = polarlab.simulate(
        "polarfly", **given, routing="ugal-pf", out=tmp_path / "full"
    ).summary.latency_cycles
    assert latency.p50 <= latency.p99 <= latency.p99_9 <= latency.max

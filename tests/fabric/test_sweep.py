"""Sweeps, strictness and calibration, as users run them."""

import csv
import json
import signal
from collections import Counter
from dataclasses import replace

import pytest
from conftest import TIMEOUT_S, fabric_options, one_line, polarlab, start_polarlab, wait_for_line

from emulation.requirements import qdisc_available
from experiments import calibration
from experiments.results.open import open_results
from experiments.run import run_experiment
from experiments.spec.resolve import Run
from experiments.spec.traffic import TrafficOptions
from polarlab import sweep as sweep_of_fabric

needs_netem = pytest.mark.skipif(not qdisc_available("netem delay 1ms"), reason="this kernel has no netem")
pytestmark = pytest.mark.usefixtures("no_leftovers")

SWEEP = ("sweep", "polarfly", "--q", "2", "--hosts", "2", "--link-rate", "500kbit", "--warmup", "0.5")
SWEEP += ("--duration", "1", "--routings", "min,ugal-pf", "--patterns", "tornado")


def rows(folder):
    with open(folder / "points.csv", newline="") as file:
        return list(csv.DictReader(file))


def test_a_sweep_that_was_killed_goes_on_where_it_was(tmp_path):
    out = tmp_path / "sweep"
    words = (*SWEEP, "--loads", "0.5", "--repeat", "2", "--out", str(out))
    process = start_polarlab(*words)
    wait_for_line(process, "point 2 of 2")
    wait_for_line(process, "seed 2")
    process.kill()
    process.communicate(timeout=TIMEOUT_S)
    measured = rows(out)
    assert len(measured) == 1
    replication = out / "points" / "ugal-pf-tornado-0.5-seed-1.json"
    kept = replication.read_bytes()
    with open(out / "points.csv", "a") as file:
        file.write("min,tornado,0.5,0.49")  # torn off in the middle of a row

    done = polarlab(*words, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["measured"] == 1
    assert "seed 1," not in done.stderr
    assert replication.read_bytes() == kept
    assert rows(out)[: len(measured)] == measured
    points = Counter((row["routing"], row["pattern"], row["load"]) for row in rows(out))
    assert len(points) == 2
    assert set(points.values()) == {1}
    assert [point["routing"] for point in result["points"]] == ["min", "ugal-pf"]
    for row in rows(out):
        assert float(row["accepted"]) == pytest.approx(float(row["offered"]), rel=0.3)
        assert (row["predicted_accepted"] != "") == (row["routing"] == "min")
    assert (out / "sweep.png").stat().st_size > 10_000
    sweep = open_results(out)
    for point, values in sweep.points.items():
        loads = [link.load for link in sweep.link_loads(point)]
        # The mean over replications of the highest load is at least the highest of the links' mean loads.
        assert max(loads) <= values.link_load_max + 1e-5
        assert max(loads) == pytest.approx(values.link_load_max, rel=0.1)
        assert 1 <= values.hops_mean <= 4

    other = polarlab(*words, "--seed", "7")
    assert other.returncode == 2
    assert "with seed 1, not 7" in one_line(other.stderr)
    assert len(rows(out)) == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.slow
def test_replications_of_an_interrupted_point_are_kept_and_the_sweep_goes_on_with_the_next(tmp_path, number):
    out = tmp_path / "sweep"
    words = [*SWEEP, "--loads", "0.5", "--out", str(out), "--repeat", "3"]
    words[words.index("min,ugal-pf")] = "min"
    process = start_polarlab(*words)
    wait_for_line(process, "seed 3")
    process.send_signal(number)
    process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    points = out / "points"
    assert sorted(path.name for path in points.glob("*.json")) == [
        "min-tornado-0.5-seed-1.json",
        "min-tornado-0.5-seed-2.json",
    ]
    kept = [path.read_bytes() for path in sorted(points.glob("*.json"))]

    done = polarlab(*words, "--json")
    assert done.returncode == 0, done.stderr
    assert "seed 3, run 3 of 3" in done.stderr
    assert "seed 2" not in done.stderr
    assert [path.read_bytes() for path in sorted(points.glob("*-seed-[12].json"))] == kept
    (row,) = rows(out)
    assert float(row["accepted_ci95"]) > 0
    (point,) = open_results(out).points
    combined = json.loads((points / "min-tornado-0.5.json").read_text())
    assert combined["repeat"]["seeds"] == [1, 2, 3]
    assert max(link.load for link in open_results(out).link_loads(point)) > 0


def test_a_sweep_does_not_touch_the_folder_of_a_run(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"name": "polarfly"}))
    done = polarlab(*SWEEP, "--loads", "0.2", "--out", str(tmp_path))
    assert done.returncode == 2
    assert str(tmp_path) in one_line(done.stderr)
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


def test_a_sweep_without_a_link_rate_keeps_the_one_that_it_has(tmp_path):
    out = tmp_path / "sweep"
    given = {"q": 2, "hosts": 2, "warmup": 0.3, "duration": 0.5, "routings": "min", "patterns": "uniform"}
    for loads in ("0.05", "0.05,0.9"):  # which alone has a lower rate
        sweep_of_fabric("polarfly", **given, loads=loads, out=out)
    summaries = [json.loads(path.read_text()) for path in sorted(out.glob("points/*.json"))]
    assert [one["load"] for one in summaries] == [0.05, 0.9]
    first, second = [(one["link_rate_bps"], one["link_rate_from"]) for one in summaries]
    assert first == second
    assert first[1] == "rule"
    manifest = json.loads((out / "manifest.json").read_text())
    assert (manifest["link_rate_bps"], manifest["link_rate_from"]) == first


RUN = ("run", "polarfly", "--q", "2", "--link-rate", "500kbit", "--load", "0.3", "--json")


def test_strict_makes_an_invalid_run_a_negative_result(tmp_path):
    """No machine carries 12,000 frames of the smallest size a second over each of 28 links."""
    flood = ("--link-rate", "30Mbit", "--load", "0.7", "--frame-bytes", "200", "--warmup", "0")
    done = polarlab(*RUN, *flood, "--duration", "0.5", "--strict", "--out", str(tmp_path / "run"))
    assert done.returncode == 1
    assert not json.loads(done.stdout)["fidelity"]["valid"]
    assert any("result not valid" in line and "try --link-rate " in line for line in done.stderr.splitlines())


@pytest.mark.slow
@pytest.mark.tried_again
def test_a_calibrated_rate_is_found_set_and_written_down(tmp_path, monkeypatch):
    """By trials that are shorter, and less choosy, than a user's."""
    monkeypatch.setattr(calibration, "DURATION_S", 2.2)  # two whole seconds are in it
    monkeypatch.setattr(calibration, "MIN_FINAL_STRAIN", 0.0)  # the first trial with little strain ends it
    options = replace(fabric_options("polarfly", {"q": 2}), calibrate=True)
    traffic = TrafficOptions("uniform", 0.3, 1000, 64, 0.5, 2.0, seed=1)
    notified = []
    out = tmp_path / "run"
    summary = run_experiment(Run(options, traffic), out, notified.append)
    rate_bps = summary.link_rate_bps
    assert rate_bps > 100_000  # seven switches are few, even for half a machine
    assert rate_bps != options.links.rate_bps
    assert any(f"links of {rate_bps / 1e6:g} Mbit/s" in str(event) for event in notified)
    assert summary.accepted == pytest.approx(0.3, rel=0.2)
    assert json.loads((out / "manifest.json").read_text())["link_rate_bps"] == rate_bps


@pytest.mark.slow
@pytest.mark.tried_again
def test_the_command_calibrates_as_a_user_asks_it_to(tmp_path):
    words = [word if word != "500kbit" else "auto" for word in RUN]
    done = polarlab(*words, "--duration", "2", "--warmup", "0.5", "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["link_rate_bps"] > 300_000
    assert summary["link_rate_from"] == "auto"
    assert summary["accepted"] == pytest.approx(0.3, rel=0.2)


VARIED = ("sweep", "polarfly", "--q", "2", "--hosts", "2", "--warmup", "0.3", "--duration", "0.8")
VARIED += ("--routings", "min", "--patterns", "tornado", "--loads", "0.5")
SLOW = ("--link-rate", "500kbit")


def varied(out, *keys, more=SLOW):
    """Runs a sweep that varies some keys, with more options, and returns its object and what it told."""
    words = [word for key in keys for word in ("--vary", key)]
    done = polarlab(*VARIED, *more, *words, "--out", str(out), "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.slow
@pytest.mark.tried_again
def test_links_change_on_the_standing_fabric_and_are_what_was_asked_for(tmp_path):
    """The traffic is too much for some links, which are then as fast as they are, with queues always full."""
    out = tmp_path / "sweep"
    more = ("--loads", "1", "--warmup", "2", "--duration", "1.2")
    result, told = varied(out, "queue=4,32", "link-rate=300kbit,600kbit", more=more)
    assert told.count("starting 7 Open vSwitches") == 1
    assert [point["varied"] for point in result["points"]] == [
        {"queue": queue, "link-rate": rate} for queue in (4, 32) for rate in ("300kbit", "600kbit")
    ]
    sweep = open_results(out)
    latency_ms = {}
    for point, row in sweep.points.items():
        summary, asked = sweep.summary(point), row.varied
        assert summary.queue_packets == asked["queue"]
        assert summary.link_rate_bps == {"300kbit": 300_000, "600kbit": 600_000}[asked["link-rate"]]
        assert 0.8 < row.link_load_max < 1.2
        latency_ms[asked["queue"], asked["link-rate"]] = row.latency_p50_ms
    for rate in ("300kbit", "600kbit"):
        assert latency_ms[32, rate] > 2 * latency_ms[4, rate]


@pytest.mark.slow
def test_a_sweep_with_varied_keys_goes_on_and_takes_further_values(tmp_path):
    out = tmp_path / "sweep"
    assert varied(out, "frame-bytes=300")[0]["measured"] == 1
    more, _ = varied(out, "frame-bytes=300,900")
    assert more["measured"] == 1
    assert [row["frame-bytes"] for row in rows(out)] == ["300", "900"]
    again, told = varied(out, "frame-bytes=300,900")
    assert again["measured"] == 0
    assert "starting" not in told
    for keys, named in (((), "varies frame-bytes, not routings"), (("flows=1,2",), "frame-bytes, not flows")):
        words = [word for key in keys for word in ("--vary", key)]
        refused = polarlab(*VARIED, *SLOW, *words, "--out", str(out))
        assert refused.returncode == 2
        assert named in one_line(refused.stderr)
    assert len(rows(out)) == 2


@needs_netem
def test_delay_of_links_comes_and_goes_on_the_standing_fabric(tmp_path):
    result, told = varied(tmp_path / "sweep", "link-delay=0,40", "queue=8,32")
    assert told.count("starting 7 Open vSwitches") == 1
    for point in result["points"]:
        delayed = point["latency_p50_ms"] >= 40
        assert delayed == (point["varied"]["link-delay"] == 40)


@pytest.mark.slow
@pytest.mark.tried_again
def test_a_lower_threshold_takes_more_detours(tmp_path):
    """Two hosts load a link of their own to 0.9: its queue is seldom empty, and seldom full."""
    words = (*SLOW, "--q", "3", "--patterns", "perm1hop", "--loads", "0.45", "--queue", "16")
    words += ("--warmup", "3", "--duration", "5", "--routings", "min,ugal-pf")
    result, _ = varied(tmp_path / "sweep", "ugal-pf.threshold=0.1,0.95", more=words)
    minimal, low, high = result["points"]
    assert (minimal["routing"], low["varied"], high["varied"]) == (
        "min",
        {"ugal-pf.threshold": 0.1},
        {"ugal-pf.threshold": 0.95},
    )
    assert low["routing"] == "ugal-pf:threshold=0.1"
    assert minimal["hops_mean"] == 1
    # Minimal paths are one hop long, detours two or three.
    assert low["hops_mean"] - 1 > 2 * (high["hops_mean"] - 1)
    assert low["hops_mean"] > 1.05

"""`--again` without a fabric: experiments of manifests, new and old, and what was settled on the way."""

import json

import pytest
from support.builders import records, result_folders
from support.fixtures.command_line import fails
from support.fixtures.foreign_folders import give_all

from controller.openflow.frameworks import choose
from experiments.codec import plain
from experiments.planned_fabric import PlannedFabric
from experiments.results.manifest import run_manifest
from experiments.results.rerun import experiment_to_rerun
from experiments.spec.files.experiment_file import kept_content
from experiments.spec.settings import TrafficSettings
from polarlab.cli.parser import parse
from topology.errors import ParameterError, Status


def kept(words):
    """The experiment of a command line as its manifest keeps it."""
    return kept_content(parse(words.split()).experiment)


def folder_of(tmp_path, words, **changes):
    """Results of an experiment, with some entries of the manifest changed."""
    folder = tmp_path / "results"
    folder.mkdir()
    manifest = plain(records.run_manifest(experiment=kept(words), **changes))
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("run", "run polarfly --q 2 --load 0.4 --repeat 3 --pcap h1_1 --out elsewhere"),
        ("run", "run polarfly --q 2 --pattern allreduce --ranks 4"),
        ("run", "run polarfly --q 2 --flow-sizes web-search --drain 3"),
        ("run", "run polarfly --q 2 --exec true"),
        ("sweep", "sweep polarfly --q 2 --loads 0.5"),
        ("demo failover", "demo failover polarfly --q 3 --fail random-link --repeat 3"),
    ],
)
def test_an_experiment_is_the_one_of_the_manifest(tmp_path, command, words):
    folder = folder_of(tmp_path, words)
    wanted = {n: v for n, v in parse(words.split()).experiment.complete.values.items() if n != "out"}
    assert experiment_to_rerun(folder).values == wanted
    again = parse([*command.split(), "--again", str(folder), "--seed", "9"]).experiment
    assert {**again.values, "out": None} == {**wanted, "seed": 9, "out": None}
    assert ("out" in again.values) == (command == "sweep")  # which would go on in its old folder


def test_a_settled_rate_and_window_stand_for_auto_and_steady(tmp_path):
    folder = folder_of(
        tmp_path, "run polarfly --q 2 --link-rate auto --warmup steady --repeat 2", link_rate_bps=1_234_567
    )
    for name, begun_s in (("seed-1", 7.25), ("seed-2", 3.5)):
        records.write(folder / name, "summary.json", records.summary(warmup_s=begun_s))
    values = experiment_to_rerun(folder).values
    assert (values["link-rate"], values["warmup"]) == ("1.234567Mbit", 7.25)
    assert experiment_to_rerun(folder).resolve().fabric.links.rate_bps == 1_234_567


def test_the_latest_window_of_a_sweep_stands_for_steady(tmp_path):
    words = "sweep polarfly --q 3 --hosts 2 --link-rate 1Mbit --loads 0.2,0.4 --warmup steady"
    result_folders.write_sweep(tmp_path / "results", ("min",), ("uniform",), loads=(0.2, 0.4))
    manifest = json.loads((tmp_path / "results" / "manifest.json").read_text())
    (tmp_path / "results" / "manifest.json").write_text(json.dumps({**manifest, "experiment": kept(words)}))
    starts = [json.loads(one.read_text())["warmup_s"] for one in (tmp_path / "results").glob("points/*.json")]
    assert experiment_to_rerun(tmp_path / "results").values["warmup"] == max(starts)


def test_only_summaries_that_the_results_name_are_read_and_of_bounded_size(tmp_path):
    """Those of another user may have thousands of links to one large file."""
    folder = folder_of(tmp_path, "run polarfly --q 2 --warmup steady --repeat 30")
    records.write(folder / "seed-1", "summary.json", records.summary(warmup_s=3.5))
    for place in ("other", "points"):
        records.write(folder / place, "summary.json", records.summary(warmup_s=9.5))
    (folder / "points" / "more.json").write_text("damaged")
    assert experiment_to_rerun(folder).values["warmup"] == 3.5
    (folder / "large.json").write_text('{"warmup_s": 9.5, "x": "' + "x" * (5 << 20) + '"}')
    for seed in range(2, 31):
        (folder / f"seed-{seed}").mkdir()
        (folder / f"seed-{seed}" / "summary.json").symlink_to(folder / "large.json")
    with pytest.raises(ParameterError, match="128 MiB") as raised:
        experiment_to_rerun(folder)
    assert str(folder) in str(raised.value)


@pytest.mark.parametrize("name", ["there", "missing"])
def test_links_of_another_user_do_not_show_what_only_root_can_see(nobodys, tmp_path, name):
    folder = folder_of(nobodys, "run polarfly --q 2 --warmup steady --seed 1")
    (tmp_path / "there").write_text("{}")
    tmp_path.chmod(0o700)
    (folder / "seed-1").mkdir()
    (folder / "seed-1" / "summary.json").symlink_to(tmp_path / name)
    give_all(folder)
    with pytest.raises(ParameterError, match="Permission denied"):
        experiment_to_rerun(folder)


def test_where_no_window_was_measured_throughput_has_to_settle_anew(tmp_path):
    folder = folder_of(tmp_path, "run polarfly --q 2")
    assert experiment_to_rerun(folder).values["warmup"] == "steady"


def test_the_schedule_in_the_folder_stands_for_the_file_of_faults(tmp_path):
    (tmp_path / "faults.txt").write_text("1 fail link:s1-s5\n")
    folder = folder_of(tmp_path, f"run polarfly --q 2 --faults {tmp_path}/faults.txt")
    (folder / "faults.txt").write_text("1 fail link:s1-s5\n2 restore link:s1-s5\n")
    (tmp_path / "faults.txt").unlink()
    assert len(experiment_to_rerun(folder).resolve().traffic.faults) == 2


def test_a_replication_is_measured_again_by_itself():
    chosen = parse(["run", "polarfly", "--q", "2", "--repeat", "3", "--seed", "4"]).experiment.resolve()
    fabric = PlannedFabric(chosen.fabric, datapath="user", framework=choose().name)
    one = run_manifest(fabric, TrafficSettings(), 6, one_of_many=True).experiment
    assert (one["traffic"]["seed"], one["traffic"]["repeat"]) == (6, 1)
    every = run_manifest(fabric, TrafficSettings(), 4).experiment
    assert (every["traffic"]["seed"], every["traffic"]["repeat"]) == (4, 3)


def old(tmp_path, traffic, **changes):
    """Results of a version whose manifests hold no experiment."""
    manifest = records.run_manifest(traffic=TrafficSettings(**traffic), **changes)
    records.write(tmp_path / "old", "manifest.json", manifest)
    return experiment_to_rerun(tmp_path / "old")


def test_old_runs_are_measured_again_by_their_settings(tmp_path):
    settings = {"pattern": "tornado", "load": 0.5, "frame_bytes": 1000, "flows": 64, "warmup_s": 1.0}
    again = old(tmp_path, {**settings, "duration_s": 4.0, "seed": 3, "arrivals": "constant", "faults": ()})
    chosen = again.resolve()
    assert (again.family, again.params, chosen.fabric.hosts) == ("polarfly", {"q": 3}, 2)
    assert chosen.fabric.links.rate_bps == 500_000
    traffic = chosen.traffic
    assert (traffic.pattern, traffic.load, traffic.warmup_s, traffic.duration_s) == ("tornado", 0.5, 1.0, 4.0)
    assert (traffic.seed, traffic.arrivals) == (3, "constant")


def test_old_collectives_programs_failovers_and_sweeps_are_measured_again(tmp_path):
    collective = old(tmp_path, {"pattern": "allreduce:ring", "ranks": 4, "message_bytes": (4096, 8192)})
    assert collective.resolve().traffic.message_bytes == (4096, 8192)
    programs = old(tmp_path, {"pattern": "programs", "programs": ("h1_1 true",), "exec_timeout_s": 9.0})
    assert programs.resolve().programs.timeout_s == 9
    failover = old(
        tmp_path, {"elements": ("link:s1-s10",), "kill_controller": False, "fail_s": 2.0, "seed": 1}
    )
    assert [component.name for component in failover.resolve().failovers.repetitions[0].elements] == [
        "link:s1-s10"
    ]
    sweep = records.sweep_manifest(routings=("min",), patterns=("tornado",), loads=(0.1, 0.5), duration_s=2.0)
    records.write(tmp_path / "sweep", "manifest.json", sweep)
    assert [point.load for point in experiment_to_rerun(tmp_path / "sweep").resolve().sweep.points()] == [
        0.1,
        0.5,
    ]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("run --again {}/nothing", "manifest.json"),
        ("sweep --again {}/run", "polarlab run --again"),
        ("run --again {}/session", "session"),
        ("run --again {}/damaged", "damaged"),
        ("run polarfly --again {}/run", "leave polarfly out"),
        ("run --again {}/run --radix 3", "--expand, got --radix"),
        ("run --again", "--again"),
    ],
)
def test_results_that_cannot_be_measured_again_are_told_in_one_line(tmp_path, capsys, words, named):
    result_folders.write_run(tmp_path / "run")
    traffic = TrafficSettings(pattern="session")
    records.write(tmp_path / "session", "manifest.json", records.run_manifest(traffic=traffic))
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "manifest.json").write_text("[]")
    assert named in fails(capsys, words.format(tmp_path).split(), Status.USAGE)


@pytest.mark.parametrize(
    "damage",
    [{"link_rate_bps": 0}, {"routing": "a" * 3000}, {"name": ["polarfly"] * 1000}],
    ids=["rate", "routing", "name"],
)
def test_odd_settings_are_refused_in_a_short_line(tmp_path, capsys, damage):
    result_folders.write_run(tmp_path / "run")
    file = tmp_path / "run" / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | damage))
    assert len(fails(capsys, ["run", "--again", str(tmp_path / "run")], Status.USAGE)) < 1000

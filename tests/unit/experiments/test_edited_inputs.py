"""Edited input files: results are not resumed, repeated or recomputed from another content."""

import importlib
import re
from dataclasses import fields

import pytest
from support.builders import records
from support.builders.result_folders import write_run
from support.fixtures.command_line import fails

import polarlab
from controller.openflow.frameworks import choose
from experiments.events.pace import Unthrottled
from experiments.events.progress import PointsSimulated
from experiments.observation.recording import read_recording
from experiments.planned_fabric import PlannedFabric
from experiments.results.manifest import SweepSettings, sweep_manifest
from experiments.results.parts.swept_values import swept_values
from experiments.simulation.simulate import run_simulation
from experiments.spec.files.experiment_file import kept_content
from experiments.spec.flows import list_flows
from experiments.spec.settings import PacketSettings
from experiments.sweep import run_sweep
from polarlab.api.requests import traffic_request
from polarlab.cli import main as entry
from polarlab.cli.parser import parse
from topology.errors import ParameterError, UsageError

GRAPH = "a b\nb c\nc d\nd a\n"
MATRIX = "source,destination,share\nh1_1,h2_1,1\nh2_1,h1_1,1\n"
# Name of a file -> its content, another valid one, and a command that reads it on a graph of four routers.
KINDS = {
    "ring.edges": (GRAPH, f"{GRAPH}a c\n", "simulate graph --from ring.edges --load 0.5"),
    "demand.csv": (
        MATRIX,
        MATRIX.replace("h2_1,1\n", "h3_1,1\n"),
        "simulate polarfly --q 2 --pattern matrix:demand.csv --load 0.5",
    ),
    "trace.csv": (
        "time_cycles,source,destination,bytes\n0,h1_1,h2_1,64\n",
        "time_cycles,source,destination,bytes\n0,h1_1,h2_1,65\n",
        "simulate polarfly --q 2 --trace trace.csv",
    ),
    "flows.csv": (
        "time_s,source,destination,bytes\n0,h1_1,h2_1,64\n",
        "time_s,source,destination,bytes\n0,h1_1,h2_1,65\n",
        "run polarfly --q 2 --flow-file flows.csv",
    ),
    "sizes.csv": (
        "bytes,cumulative_probability\n100,0.5\n1000,1\n",
        "bytes,cumulative_probability\n100,0.6\n1000,1\n",
        "run polarfly --q 2 --flow-sizes sizes.csv --load 0.2",
    ),
    "programs": ("h1_1 true\n", "h1_1 false\n", "run polarfly --q 2 --exec-file programs"),
    "faults.txt": (
        "1 fail link:s1-s5\n",
        "2 fail link:s1-s5\n",
        "run polarfly --q 2 --load 0.2 --warmup 0 --faults faults.txt",
    ),
}
SWEEP = "--engine simulation --routings min --warmup 100 --cycles 300 --out swept"
SWEPT = {
    "ring.edges": (*KINDS["ring.edges"][:2], f"sweep graph --from ring.edges --patterns uniform {SWEEP}"),
    "demand.csv": (*KINDS["demand.csv"][:2], f"sweep polarfly --q 2 --patterns matrix:demand.csv {SWEEP}"),
    "faults.txt": (
        "150 fail link:s1-s5\n",
        "150 fail link:s1-s5\n200 restore link:s1-s5\n",
        f"sweep polarfly --q 2 --patterns uniform --faults faults.txt {SWEEP}",
    ),
}


@pytest.fixture(autouse=True)
def _in_own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def kept(words):
    """The experiment of a command line as its manifest keeps it."""
    return kept_content(parse(words.split()).experiment)


def measured(folder, words):
    """Writes the manifest of an experiment into a folder."""
    records.write(folder, "manifest.json", records.run_manifest(experiment=kept(words)))


@pytest.mark.parametrize("name", KINDS)
def test_a_changed_file_is_not_used_again(tmp_path, capsys, monkeypatch, name):
    content, other, words = KINDS[name]
    (tmp_path / name).write_text(content)
    measured(tmp_path / "old", words)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    again = [words.split()[0], "--again", str(tmp_path / "old"), "--seed", "2"]
    assert parse(again).experiment.resolve()
    (tmp_path / name).write_text(other)
    refused = fails(capsys, again, 2)
    assert str(tmp_path / name) in refused
    assert "changed" in refused
    (tmp_path / name).unlink()
    assert str(tmp_path / name) in fails(capsys, again, 2)
    (tmp_path / name).write_text(content)
    assert parse(again).experiment.resolve()


def test_a_file_that_another_one_replaces_may_change(tmp_path):
    (tmp_path / "ring.edges").write_text(GRAPH)
    measured(tmp_path / "old", KINDS["ring.edges"][2])
    (tmp_path / "ring.edges").write_text(KINDS["ring.edges"][1])
    (tmp_path / "other.edges").write_text(GRAPH)
    assert parse(["simulate", "--again", "old", "--from", "other.edges"]).experiment.resolve()


def test_results_of_older_versions_use_the_file_as_it_is(tmp_path):
    content, other, words = KINDS["ring.edges"]
    (tmp_path / "ring.edges").write_text(content)
    experiment = kept(words)
    del experiment["inputs"]
    records.write(tmp_path / "old", "manifest.json", records.run_manifest(experiment=experiment))
    (tmp_path / "ring.edges").write_text(other)
    assert parse(["simulate", "--again", "old"]).experiment.resolve().fabric.topology.links == 5


@pytest.mark.usefixtures("compiled_kernels")
@pytest.mark.parametrize("name", SWEPT)
def test_a_sweep_does_not_resume_with_a_changed_file(tmp_path, capsys, monkeypatch, name):
    content, other, words = SWEPT[name]
    (tmp_path / name).write_text(content)
    assert entry.main([*words.split(), "--loads", "0.1"]) == 0
    capsys.readouterr()
    resumed = [*words.split(), "--loads", "0.1,0.2"]
    (tmp_path / name).write_text(other)
    assert "--out" in fails(capsys, resumed, 2)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / name).write_text(other)
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert "--out" in fails(capsys, [*resumed, "--out", "../swept"], 2)
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).unlink()
    assert name in fails(capsys, resumed, 2)
    (tmp_path / name).write_text(content)
    assert entry.main(resumed) == 0
    assert list(polarlab.open_results("swept").manifest.experiment["inputs"]) == [name]


@pytest.mark.usefixtures("compiled_kernels")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_matrix_that_changes_during_a_sweep_ends_it(tmp_path, workers):
    content, other, _ = KINDS["demand.csv"]
    file = tmp_path / "demand.csv"
    file.write_text(content)
    swept = {"q": 2, "engine": "simulation", "routings": "min", "patterns": f"matrix:{file}", "warmup": 100}
    swept |= {"cycles": 300, "loads": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "out": tmp_path / "swept"}

    def change(event):
        if isinstance(event, PointsSimulated):
            file.write_text(other)

    with pytest.raises(UsageError, match="changed"):
        polarlab.sweep("polarfly", **swept, workers=workers, progress=Unthrottled(change))
    assert 1 <= len(polarlab.open_results(tmp_path / "swept").points) < 6
    file.write_text(content)
    assert len(polarlab.sweep("polarfly", **swept, workers=1).points) == 6


def test_measured_sweeps_do_not_resume_on_a_changed_graph(tmp_path):
    content, other, _ = KINDS["ring.edges"]
    (tmp_path / "ring.edges").write_text(content)
    words = "sweep graph --from ring.edges --routings min --patterns uniform --loads 0.1"
    chosen = parse(words.split()).experiment.resolve()
    first = chosen.points[0]
    traffic = vars(first.traffic.settings())
    manifest = sweep_manifest(
        PlannedFabric(first.fabric, datapath="user", framework=choose().name),
        SweepSettings(
            **vars(first.fabric.settings()),
            **{entry.name: traffic[entry.name] for entry in fields(PacketSettings)},
            **swept_values(chosen.sweep),
        ),
        None,
    )
    records.write(tmp_path / "swept", "manifest.json", manifest)
    (tmp_path / "ring.edges").write_text(other)
    changed = parse(words.split()).experiment.resolve()
    with pytest.raises(ParameterError, match=r"changed.*--out"):
        run_sweep(changed.points, changed.sweep, tmp_path / "swept", lambda _event: None)


@pytest.mark.usefixtures("compiled_kernels")
@pytest.mark.parametrize("name", ["ring.edges", "demand.csv"])
def test_crosscheck_refuses_a_changed_file(tmp_path, capsys, name):
    content, other, _ = KINDS[name]
    (tmp_path / name).write_text(content)
    on_graph = name == "ring.edges"
    fabric = "graph --from ring.edges" if on_graph else "polarfly --q 2"
    pattern = "uniform" if on_graph else "matrix:demand.csv"
    named = {"name": "graph", "params": {"from": name}} if on_graph else {"params": {"q": 2}}
    changes = {**named, "hosts": 1, "pattern": pattern, "queueing_frame_times": 1.5}
    experiment = kept(f"run {fabric} --pattern {pattern} --load 0.3")
    write_run(tmp_path / "run", records.summary(**changes), experiment=experiment, **named, hosts=1)
    assert entry.main(["crosscheck", "run", "--json"]) == 0
    capsys.readouterr()
    (tmp_path / name).write_text(other)
    assert "changed" in (refused := fails(capsys, ["crosscheck", "run"], 2))
    assert name in refused
    (tmp_path / name).unlink()
    assert name in fails(capsys, ["crosscheck", "run"], 2)


def test_a_replay_and_a_figure_do_not_show_a_changed_graph(tmp_path):
    content, other, words = KINDS["ring.edges"]
    (tmp_path / "ring.edges").write_text(content)
    named = {"name": "graph", "params": {"from": "ring.edges"}}
    experiment = kept(words.replace("simulate", "run"))
    folder = write_run(tmp_path / "run", records.summary(**named), experiment=experiment, **named)
    read_recording(folder)
    (tmp_path / "ring.edges").write_text(other)
    with pytest.raises(ParameterError, match=r"ring\.edges has changed"):
        read_recording(folder)


def test_a_figure_without_its_map_names_the_file_that_has_changed(tmp_path):
    content, other, words = KINDS["ring.edges"]
    (tmp_path / "ring.edges").write_text(content)
    named = {"name": "graph", "params": {"from": "ring.edges"}}
    experiment = kept(words.replace("simulate", "run"))
    folder = write_run(tmp_path / "run", records.summary(**named), experiment=experiment, **named)
    assert "ring.edges has" not in polarlab.plot(folder)["links"].get_suptitle()
    (tmp_path / "ring.edges").write_text(other)
    title = " ".join(polarlab.plot(folder)["links"].get_suptitle().split())
    assert "no map: " in title
    assert "ring.edges has changed" in title


def test_a_replay_reads_the_graph_of_its_experiment_from_any_folder(tmp_path, monkeypatch):
    content, other, words = KINDS["ring.edges"]
    (tmp_path / "ring.edges").write_text(content)
    named = {"name": "graph", "params": {"from": "ring.edges"}}
    experiment = kept(words.replace("simulate", "run"))
    folder = write_run(tmp_path / "run", records.summary(**named), experiment=experiment, **named)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    read_recording(folder)
    (tmp_path / "elsewhere" / "ring.edges").write_text(other)
    read_recording(folder)
    (tmp_path / "ring.edges").write_text(other)
    with pytest.raises(ParameterError, match=r"ring\.edges has changed"):
        read_recording(folder)


def test_a_session_measures_nothing_on_a_graph_that_has_changed(tmp_path):
    content, other, _ = KINDS["ring.edges"]
    (tmp_path / "ring.edges").write_text(content)
    fabric = parse(["up", "graph", "--from", "ring.edges"]).experiment
    assert fabric.resolve().fabric.topology.links == 4
    assert traffic_request(fabric, {"load": 0.1}).resolve().fabric.topology.links == 4
    (tmp_path / "ring.edges").write_text(other)
    with pytest.raises(UsageError, match="changed"):
        traffic_request(fabric, {"load": 0.1})


def test_an_experiment_does_not_mix_two_contents_of_a_file(tmp_path):
    content, other, words = KINDS["demand.csv"]
    (tmp_path / "demand.csv").write_text(content)
    experiment = parse(words.split()).experiment
    assert experiment.inputs
    (tmp_path / "demand.csv").write_text(other)
    with pytest.raises(UsageError, match="changed"):
        experiment.resolve()
    assert parse(words.split()).experiment.resolve()


# The functions through which modules read the content of the files above.
READERS = {
    "ring.edges": "topology.families.graph_file.read_text",
    "demand.csv": "traffic.workload.demand_matrix.read_lines",
    "trace.csv": "traffic.workload.flows.sizes.read_lines",
    "flows.csv": "traffic.workload.flows.sizes.read_lines",
    "sizes.csv": "traffic.workload.flows.sizes.read_lines",
    "programs": "experiments.spec.programs.read_text",
    "faults.txt": "experiments.spec.traffic.read_text",
}


@pytest.fixture
def replaced_while_read(tmp_path, monkeypatch):
    """Returns a function that replaces a file's content whenever it is read, and restores it at once."""

    def replace(name):
        content, other, _ = KINDS[name]
        module, _, function = READERS[name].rpartition(".")
        read = getattr(importlib.import_module(module), function)

        def read_other(*words, **options):
            (tmp_path / name).write_text(other)
            try:
                return read(*words, **options)
            finally:
                (tmp_path / name).write_text(content)

        monkeypatch.setattr(READERS[name], read_other)

    return replace


@pytest.mark.parametrize("name", KINDS)
def test_only_the_content_of_the_digest_is_used(tmp_path, replaced_while_read, name):
    content, _, words = KINDS[name]
    (tmp_path / name).write_text(content)
    replaced_while_read(name)
    with pytest.raises(UsageError, match=rf"{re.escape(name)} has changed"):
        parse(words.split()).experiment.resolve()


@pytest.mark.usefixtures("compiled_kernels")
@pytest.mark.parametrize("name", ["demand.csv", "trace.csv"])
def test_only_the_content_of_the_digest_is_simulated(tmp_path, replaced_while_read, name):
    content, _, words = KINDS[name]
    (tmp_path / name).write_text(content)
    chosen = parse(words.split()).experiment.resolve()
    replaced_while_read(name)
    with pytest.raises(UsageError, match=rf"{re.escape(name)} has changed"):
        run_simulation(chosen, tmp_path / "out", lambda _event: None)


def test_only_the_content_of_the_digest_is_replayed(tmp_path, replaced_while_read):
    content, _, words = KINDS["ring.edges"]
    (tmp_path / "ring.edges").write_text(content)
    named = {"name": "graph", "params": {"from": "ring.edges"}}
    experiment = kept(words.replace("simulate", "run"))
    folder = write_run(tmp_path / "run", records.summary(**named), experiment=experiment, **named)
    replaced_while_read("ring.edges")
    with pytest.raises(ParameterError, match=r"ring\.edges has changed"):
        read_recording(folder)


@pytest.mark.parametrize("name", ["flows.csv", "sizes.csv"])
def test_only_flows_of_the_content_of_the_digest_are_run(tmp_path, replaced_while_read, name):
    content, _, words = KINDS[name]
    (tmp_path / name).write_text(content)
    chosen = parse(words.split()).experiment.resolve()
    replaced_while_read(name)
    with pytest.raises(UsageError, match=rf"{re.escape(name)} has changed"):
        list_flows(chosen.traffic, chosen.fabric)


def test_a_file_that_appears_after_its_digest_is_not_read(tmp_path):
    content, _, words = KINDS["demand.csv"]
    experiment = parse(words.split()).experiment
    assert experiment.inputs == {}
    (tmp_path / "demand.csv").write_text(content)
    with pytest.raises(UsageError, match="changed"):
        experiment.resolve()

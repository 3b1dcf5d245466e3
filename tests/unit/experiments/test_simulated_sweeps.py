"""Sweeps of simulations: points in processes and on a cluster, resumed, drawn, reported and compared."""

import importlib
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.builders.repeats import repeats

import polarlab
from experiments.events.pace import Unthrottled
from experiments.events.progress import PointsSimulated
from experiments.papers.model import Scale
from experiments.papers.networks import network
from experiments.papers.performance.curves import measured
from experiments.papers.performance.model import ComputeSettings, Curve, simulated
from experiments.points.loads import LoadSteps
from experiments.results.open import Simulation, open_results
from experiments.results.run_directory import kept_directory
from experiments.results.sweep_points import SimulatedPointRow
from experiments.simulation import cluster
from experiments.simulation.address import Scheduler
from experiments.simulation.code_version import code_version
from experiments.simulation.fabric import planned_routing
from experiments.simulation.task import Task
from experiments.spec.experiment import Experiment
from polarlab.api.requests import request_of
from polarlab.cli import main as entry
from topology.errors import MachineError, ParameterError, PolarLabError, UsageError

SWEPT = {
    **{"q": 3, "hosts": 2, "engine": "simulation", "routings": "min,ugal-pf", "patterns": "tornado"},
    **{"loads": [0.1, 0.4], "warmup": 300, "cycles": 600},
}
TRUSTED = {"insecure_cluster": True}  # tests may be root's


def table(folder):
    """Returns the table of a sweep's points, without their times."""
    lines = (folder / "points.csv").read_text().splitlines()
    assert lines[0].endswith(",ended")
    return [line.rpartition(",")[0] for line in lines]


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """The results of a sweep that this process simulated."""
    return polarlab.sweep("polarfly", out=tmp_path_factory.mktemp("swept") / "one", workers=1, **SWEPT)


def test_each_point_is_a_folder_as_of_simulate(swept, tmp_path):
    for point, row in swept.points.items():
        one = swept.simulation(point)
        assert isinstance(open_results(one.folder), Simulation)
        assert (row.offered, row.accepted) == (one.summary.offered, one.summary.accepted)
        assert row.latency_mean_cycles == one.summary.latency_cycles.mean
    again = polarlab.simulate(again=one.folder, out=tmp_path / "again")
    assert again.summary.hops == one.summary.hops
    assert again.summary.latency_cycles == one.summary.latency_cycles


def test_a_sweep_that_awaited_a_steady_state_is_repeated_from_its_folder(tmp_path):
    swept = polarlab.sweep("polarfly", out=tmp_path / "one", workers=1, **SWEPT | {"warmup": "steady"})
    again = polarlab.sweep(again=swept.folder, out=tmp_path / "again", workers=1)
    assert table(again.folder) == table(swept.folder)


def test_processes_give_the_same_results_as_this_one(swept, tmp_path):
    other = polarlab.sweep("polarfly", out=tmp_path / "other", workers=2, **SWEPT)
    assert table(other.folder) == table(swept.folder)
    for point in swept.points:
        files = [one.simulation(point).folder / "link_loads.csv" for one in (swept, other)]
        assert files[0].read_text() == files[1].read_text()


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupted_sweep_keeps_its_points_and_goes_on(swept, tmp_path, workers):
    def interrupt(event):
        if isinstance(event, PointsSimulated):
            raise KeyboardInterrupt

    folder, told = tmp_path / "swept", []

    def interrupt_and_tell(event):
        told.append(str(event))
        interrupt(event)

    with pytest.raises(KeyboardInterrupt):
        polarlab.sweep(
            "polarfly", out=folder, workers=workers, progress=Unthrottled(interrupt_and_tell), **SWEPT
        )
    kept = len(polarlab.open_results(folder).points)
    assert 1 <= kept <= workers  # what has ended beside the first is kept as well
    assert told[-1] == f"{folder} has {kept} points; repeat the command for the other {4 - kept}"
    told, manifest = [], folder / "manifest.json"
    begun = json.loads(manifest.read_text())
    assert "sessions" not in begun
    manifest.write_text(json.dumps({**begun, "started": "2026-01-02T03:04:05+0000"}))
    polarlab.sweep("polarfly", out=folder, workers=workers, progress=told.append, **SWEPT)
    assert any(f"{4 - kept} requested points are missing" in str(event) for event in told)
    assert table(folder) == table(swept.folder)
    again, ended = polarlab.open_results(folder), polarlab.open_results(folder).to_frame("points")["ended"]
    assert again.manifest.started == again.manifest.sessions[0] == "2026-01-02T03:04:05+0000"
    assert begun["started"] <= again.manifest.sessions[1] <= ended.max()
    assert begun["started"] <= ended.min()


def test_more_loads_add_points_and_other_settings_are_refused(tmp_path):
    few = {**SWEPT, "routings": "min", "loads": [0.1]}
    folder = polarlab.sweep("polarfly", out=tmp_path / "swept", workers=1, **few).folder
    more = polarlab.sweep("polarfly", out=folder, workers=1, **{**few, "loads": [0.1, 0.2]})
    assert [point.load for point in more.points] == [0.1, 0.2]
    with pytest.raises(ParameterError, match="window_cycles 600, not 700"):
        polarlab.sweep("polarfly", out=folder, workers=1, **{**few, "cycles": 700})
    with pytest.raises(ParameterError, match="virtual_channels 4, not 6"):
        polarlab.sweep("polarfly", out=folder, workers=1, virtual_channels=6, **few)
    with pytest.raises(ParameterError, match="not speedup"):
        polarlab.sweep("polarfly", out=folder, workers=1, vary="speedup=1,2", **few)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "manifest.json").write_text('{"name": "polarfly"}')
    with pytest.raises(ParameterError, match="sweep of simulations"):
        polarlab.sweep("polarfly", out=tmp_path / "other", workers=1, **few)


def test_an_ended_process_is_told_and_leaves_the_finished_points(tmp_path, monkeypatch):
    ran = Task.run

    def end_at_high_load(task, tables):
        if task.workload.load > 0.3 and task.times.window > 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return ran(task, tables)

    monkeypatch.setattr(Task, "run", end_at_high_load)
    with pytest.raises(MachineError, match=r"3 processes .*exit code -9"):
        polarlab.sweep("polarfly", out=tmp_path / "swept", workers=2, **SWEPT)


def test_a_process_that_is_ended_loses_nothing(swept, tmp_path, monkeypatch):
    ran, ended = Task.run, tmp_path / "ended"

    def end_once(task, tables):
        if task.workload.load > 0.3 and task.times.window > 1 and not ended.exists():
            ended.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return ran(task, tables)

    monkeypatch.setattr(Task, "run", end_once)
    polarlab.sweep("polarfly", out=tmp_path / "swept", workers=2, **SWEPT)
    assert ended.exists()
    assert table(tmp_path / "swept") == table(swept.folder)


def test_replications_have_means_and_intervals(tmp_path):
    few = {**SWEPT, "routings": "min", "loads": [0.4]}
    swept = polarlab.sweep("polarfly", out=tmp_path / "swept", workers=1, repeat=3, **few)
    ((point, row),) = swept.points.items()
    folder = tmp_path / "swept" / "points" / point.name
    ones = [Simulation(folder / f"seed-{seed}").summary for seed in (1, 2, 3)]
    assert row.accepted == pytest.approx(sum(one.accepted for one in ones) / 3, abs=1e-6)
    assert row.accepted_ci95 > 0
    assert row.latency_mean_ci95_cycles > 0
    summary = swept.summary(point)
    assert summary.repeat.seeds == (1, 2, 3)
    assert summary.packets.sent == sum(one.packets.sent for one in ones)
    assert {load.link for load in swept.link_loads(point)}
    assert polarlab.sweep("polarfly", out=tmp_path / "swept", repeat=3, **few).points == swept.points


@pytest.mark.parametrize("workers", [1, *repeats(2)])
def test_replications_that_were_done_when_a_sweep_was_interrupted_are_not_done_again(
    tmp_path, monkeypatch, workers
):
    few = {**SWEPT, "routings": "min", "loads": [0.4]}
    whole = polarlab.sweep("polarfly", out=tmp_path / "whole", workers=1, repeat=4, **few).folder
    ran, runs, folder = Task.run, tmp_path / "runs", tmp_path / "swept"

    def end_in_the_third(task, *others):
        if task.times.window > 1:  # not that which compiles
            with runs.open("a") as file:
                file.write("run\n")
            if runs.read_text().count("\n") == 3:
                raise KeyboardInterrupt
        return ran(task, *others)

    monkeypatch.setattr(Task, "run", end_in_the_third)
    with pytest.raises((KeyboardInterrupt, MachineError)):
        polarlab.sweep("polarfly", out=folder, workers=1, repeat=4, **few)
    done = sorted(folder.glob("points/*/seed-*/summary.json"))
    assert len(done) == 2
    before = [path.stat().st_mtime_ns for path in done]
    polarlab.sweep("polarfly", out=folder, workers=workers, repeat=4, **few)
    assert [path.stat().st_mtime_ns for path in done] == before
    assert table(folder) == table(whole)
    for path in whole.rglob("points/**/*.csv"):
        assert (folder / path.relative_to(whole)).read_bytes() == path.read_bytes()


def test_values_that_vary_are_those_of_the_points(tmp_path):
    few = {**SWEPT, "routings": "ugal-pf", "loads": [0.4], "vary": ["buffer-flits=8,32", "seed=1,2"]}
    swept = polarlab.sweep("polarfly", out=tmp_path / "swept", workers=1, **few)
    assert [dict(point.options) for point in swept.points] == [
        {"buffer-flits": flits, "seed": seed} for flits in (8, 32) for seed in (1, 2)
    ]
    for point in swept.points:
        manifest = swept.simulation(point).manifest
        assert manifest.routers.buffer_flits == dict(point.options)["buffer-flits"]
        assert manifest.traffic.seed == dict(point.options)["seed"]
    rows = list(swept.points.values())
    assert len({row.latency_mean_cycles for row in rows}) == 4
    assert "sweep" in swept.plot()


def test_sweeps_are_drawn_reported_and_compared(swept, tmp_path):
    other = polarlab.sweep("polarfly", out=tmp_path / "other", workers=1, speedup=1, **SWEPT)
    labels = [text.get_text() for text in swept.plot()["sweep"].legends[0].get_texts()]
    assert {"min, simulated", "ugal-pf, simulated", "dotted: fluid model of routers that drop"} <= set(labels)
    assert "ugal-pf-tornado-0.4" in other.report().read_text()
    comparison = polarlab.compare(swept, other)
    assert comparison.differing["routers.speedup"] == [2, 1]
    assert len(comparison.points) == 4
    assert comparison.plot()
    assert list(swept.to_frame().columns)[:3] == ["routing", "pattern", "load"]


def test_a_plan_is_that_of_all_routings_with_the_same_tables():
    assert planned_routing("ugal-pf:threshold=0.5") == planned_routing("ugal-pf")
    assert planned_routing("min") != planned_routing("ugal-pf")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"link-rate": "1Mbit"},
            "--link-rate is for --engine emulation only; leave it out",
        ),
        (
            {"engine": "emulation", "cycles": 9},
            "--cycles is for --engine simulation only; leave it out",
        ),
        ({"engine": "other"}, "engine must be one of emulation, simulation"),
        ({"queue": 8}, "--queue needs --flow-control drop"),
        ({"vary": "flow-control=credit,drop"}, "flow-control needs a new fabric"),
        ({"vary": "duration=1,2"}, "key of --vary must be one of"),
    ],
)
def test_options_of_the_other_engine_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        Experiment("sweep", {"topology": "polarfly", "q": 3, "engine": "simulation", **options}).resolve()


def test_an_experiment_of_another_engine_keeps_what_means_the_same():
    given = {
        "topology": "polarfly",
        "q": 3,
        "engine": "simulation",
        "hosts": 2,
        "warmup": 300,
        "loads": "0.5",
    }
    other = Experiment("sweep", given).overridden({"engine": "emulation"})
    assert other.values == {"topology": "polarfly", "q": 3, "engine": "emulation", "hosts": 2, "loads": "0.5"}


REAL = """version = 1
kind = "sweep"
[topology]
name = "polarfly"
q = 3
[fabric]
link-rate = "500kbit"
[traffic]
warmup = 4
duration = 8
[sweep]
routings = ["min", "ugal-pf"]
loads = [0.6]
vary = { "ugal-pf.threshold" = [0.2, 0.4], "queue" = [8, 16] }
[output]
out = "here"
"""
SIMULATED = (
    REAL.partition("[fabric]")[0]
    + """[sweep]
engine = "simulation"
routings = ["min"]
vary = { load = [0.1, 0.2], "packet-flits" = [2, 4] }
[traffic]
cycles = 500
[simulation]
virtual-channels = 6
"""
)


@pytest.mark.parametrize(
    ("text", "engine", "kept", "vary", "lost"),
    [
        (REAL, "simulation", {"loads": "0.6", "out": "here"}, ["ugal-pf.threshold=0.2,0.4"],
         "--engine simulation ignores link-rate, duration, warmup, vary queue of"),
        (SIMULATED, "emulation", {"routings": "min"}, ["load=0.1,0.2"],
         "--engine emulation ignores cycles, virtual-channels, vary packet-flits of"),
    ],
    ids=["real", "simulated"],
)  # fmt: skip
def test_a_file_swept_on_the_other_engine_keeps_what_applies_and_names_the_rest(
    text, engine, kept, vary, lost, tmp_path, capsys
):
    file = tmp_path / "sweep.toml"
    file.write_text(text)
    assert entry.main(["sweep", str(file), "--engine", engine, "--print-config"]) == 0
    out, err = capsys.readouterr()
    assert err == f"polarlab: {lost} {file}\n"
    values = {key: value for table in tomllib.loads(out).values() if isinstance(table, dict)
              for key, value in table.items()}  # fmt: skip
    assert {**kept, "vary": vary} == {key: values[key] for key in (*kept, "vary")}
    with pytest.warns(UserWarning, match=lost):
        asked = request_of("sweep", str(file), {"engine": engine})
    assert [*asked.values["vary"]] == vary


def test_values_given_for_the_other_engine_are_not_named_as_ignored(tmp_path, capsys):
    file = tmp_path / "sweep.toml"
    file.write_text(REAL)
    words = f"sweep {file} --engine simulation --warmup 300 --vary cycles=500,600 --print-config"
    assert entry.main(words.split()) == 0
    out, err = capsys.readouterr()
    assert "warmup = 300" in out
    assert 'vary = ["cycles=500,600"]' in out
    assert err == f"polarlab: --engine simulation ignores link-rate, duration of {file}\n"


def test_places_that_do_not_fit_are_refused(tmp_path):
    for given, message in (
        ({"workers": 0}, "workers must be 1 to 1024"),
        ({"workers": 2, "scheduler": "tcp://h:1"}, "cannot be combined"),
        ({"scheduler": "here"}, "scheduler must be tcp://HOST:PORT"),
        ({"scheduler": "tcp://h:1"}, r"tcp://h:1 is on another machine.*tls://"),
        ({"scheduler": "tcp://[fe80::1]:1"}, "insecure_cluster"),
        ({"scheduler": "tcp://127.0.0.1:1", "cluster_tls": tmp_path}, "tls://HOST:PORT"),
        ({"scheduler": "tls://h:1", "cluster_tls": tmp_path}, "lacks ca.pem"),
        ({"cluster_tls": tmp_path}, "scheduler"),
        ({"insecure_cluster": True}, "scheduler"),
        ({"insecure_cluster": True, "engine": "emulation"}, "is for engine simulation|--engine simulation"),
        ({"workers": 2, "engine": "emulation"}, "is for engine simulation|--engine simulation"),
    ):
        engine = {"engine": given.pop("engine", "simulation")}
        with pytest.raises(UsageError, match=message):
            polarlab.sweep("polarfly", q=3, out=tmp_path / "swept", **engine, **given)
    assert not (tmp_path / "swept").exists()


@pytest.mark.parametrize(
    "scheduler", ["tcp://127.0.0.1:1", "tcp://localhost:1", "tcp://[::1]:1", "tls://h:1"]
)
def test_a_cluster_cannot_run_code_as_root(monkeypatch, tmp_path, scheduler):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(UsageError, match="without sudo"):
        polarlab.sweep("polarfly", out=tmp_path / "swept", scheduler=scheduler, **SWEPT)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(cluster, "CONNECT_S", 0.5)
    with pytest.raises(PolarLabError) as raised:
        polarlab.sweep("polarfly", out=tmp_path / "swept", scheduler=scheduler, **SWEPT)
    assert "root" not in str(raised.value)


def test_a_missing_library_is_told_with_its_remedy(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MachineError, match=r"'polarlab\[cluster\]'"):
        polarlab.sweep("polarfly", out=tmp_path / "swept", scheduler="tcp://127.0.0.1:1", **TRUSTED, **SWEPT)
    assert not (tmp_path / "swept").exists()


def test_a_scheduler_that_is_not_there_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(cluster, "CONNECT_S", 0.5)
    with pytest.raises(MachineError, match=r"scheduler .* tcp://127"):
        polarlab.sweep("polarfly", out=tmp_path / "swept", scheduler="tcp://127.0.0.1:1", **TRUSTED, **SWEPT)


def start(*words, modules=Path(cluster.__file__).parents[2]):
    """Starts a process of dask, by default with this checkout's modules."""
    own = {"PYTHONPATH": str(modules), "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "20s"}
    command = [sys.executable, "-m", "dask", *words, "--no-dashboard"]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, cwd=modules, env=os.environ | own, **silent)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    """A scheduler's address on loopback, and the processes of its two workers."""
    pytest.importorskip("distributed")
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    started = [start("scheduler", "--host", "127.0.0.1", "--port", port)]
    try:
        for number in range(2):
            place = str(tmp_path_factory.mktemp(f"worker-{number}"))
            own = ("--nthreads", "1", "--no-nanny", "--local-directory", place)
            started.append(start("worker", address, *own))
        with importlib.import_module("distributed").Client(address, timeout=30) as client:
            client.wait_for_workers(2, timeout=30)
        yield address, started[1:]
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_a_worker_of_another_version_is_refused(workers, monkeypatch, tmp_path):
    monkeypatch.setattr(cluster, "code_version", lambda: "polarlab 9")
    with pytest.raises(MachineError) as caught:
        polarlab.sweep("polarfly", out=tmp_path / "swept", scheduler=workers[0], **TRUSTED, **SWEPT)
    assert code_version() in str(caught.value)
    assert "polarlab 9" in str(caught.value)
    assert "worker 'tcp://" in str(caught.value)
    assert not (tmp_path / "swept").exists()


def test_a_worker_of_another_version_that_joins_later_refuses_its_tasks():
    with pytest.raises(MachineError) as caught:
        cluster.done_on_worker(None, None, "polarlab 9")
    assert code_version() in str(caught.value)
    assert "polarlab 9" in str(caught.value)


@pytest.mark.usefixtures("own_names")
def test_a_plugin_that_fails_on_a_cluster_is_named_with_its_line(workers, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "import dataclasses\nfrom polarlab.extend import register\n"
        "from routing.algorithms import ugal  # of PolarLab's own: no plug-in does so\n"
        "def law(group, ports): return [].nothing\n"
        "failing = dataclasses.replace(ugal.ROUTING, law_maker=lambda datapath_id, **values: law)\n"
        'register("failing", failing)\n'
    )
    polarlab.register(file)
    given = {**SWEPT, "routings": "failing", "decision": "buckets:period=40"}
    for place in ({"workers": 2}, {"scheduler": workers[0], **TRUSTED}):
        with pytest.raises(UsageError, match=r"mine\.py.* line 4: AttributeError"):
            polarlab.sweep("polarfly", out=tmp_path / "swept", **place, **given)


def test_a_cluster_makes_plans_for_faults_and_loops_anew(workers, tmp_path):
    given = {**SWEPT, "routings": "ugal-pf", "faults": "mtbf:links=300,mttr=100", "replan_cycles": 50}
    given |= {"decision": "buckets:period=40"}
    here = polarlab.sweep("polarfly", out=tmp_path / "here", workers=1, **given)
    there = polarlab.sweep("polarfly", out=tmp_path / "there", scheduler=workers[0], **TRUSTED, **given)
    assert table(here.folder) == table(there.folder)
    for point in here.points:
        assert here.summary(point).faults == there.summary(point).faults
        assert here.summary(point).faults.replanned


def lying(value):
    """Returns what makes a worker return a wrong `latency_sum` in each outcome, or the right one again."""

    def lie():
        import dataclasses

        from experiments.simulation import cluster

        cluster.honest = honest = getattr(cluster, "honest", cluster.done_on_worker)

        def done(*given):
            outcome = honest(*given)
            changed = dataclasses.replace(outcome.result, latency_sum=value)
            return dataclasses.replace(outcome, result=changed)

        cluster.done_on_worker = honest if value is None else done

    return lie


def test_an_impossible_outcome_is_named_with_its_worker_and_leaves_nothing(workers, tmp_path):
    given = {**SWEPT, "loads": "0.1", "routings": "min", "scheduler": workers[0], **TRUSTED}
    with importlib.import_module("distributed").Client(workers[0], timeout=30) as client:
        client.run(lying(float("nan")))
        try:
            with pytest.raises(MachineError, match=r"worker 'tcp://[0-9.:]+' .*latency_sum"):
                polarlab.sweep("polarfly", out=tmp_path / "swept", **given)
        finally:
            client.run(lying(None))
    swept = polarlab.sweep("polarfly", out=tmp_path / "swept", **given)
    assert [row.stable for row in swept.points.values()] == [True]


def test_a_cluster_simulates_curves_of_papers_with_tables_that_travel_once(workers, tmp_path, monkeypatch):
    sent = []

    def dumps(planned):
        sent.append(planned)
        return pickle.dumps(planned)

    monkeypatch.setattr(cluster, "pickle", SimpleNamespace(dumps=dumps, loads=pickle.loads))
    er_3 = simulated(network("PF", "polarfly", q=3), 2, "min")
    curve = Curve("PF-MIN", er_3, "tornado", LoadSteps(precision=0.02, steps=5, max_load=0.3))
    found = []
    for number, place in enumerate(({"workers": 1}, {"scheduler": Scheduler(workers[0])})):
        with kept_directory(tmp_path / str(number)) as directory:
            found.append(measured([curve], Scale(quick=True), ComputeSettings(directory, **place))[curve])
    here, there = found
    assert here.saturation == there.saturation
    assert set(here.points) <= set(there.points)  # which tries loads ahead
    assert len(sent) == 1


def test_a_cluster_that_loses_a_worker_gives_the_same_results(workers, swept, tmp_path):
    address, processes = workers

    def kill_one(event):
        if isinstance(event, PointsSimulated) and processes[0].poll() is None:
            processes[0].kill()
            time.sleep(0.2)

    told = Unthrottled(kill_one)
    other = polarlab.sweep(
        "polarfly", out=tmp_path / "other", scheduler=address, progress=told, **TRUSTED, **SWEPT
    )
    assert processes[0].poll() is not None
    assert table(other.folder) == table(swept.folder)
    assert all(isinstance(row, SimulatedPointRow) for row in other.points.values())


def make_certificates(folder):
    """Makes an authority, and a key and a certificate that it signed."""

    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)

    folder.mkdir()
    key = ("req", "-newkey", "rsa:2048", "-nodes")
    openssl(*key, "-x509", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
    openssl(*key, "-subj", "/CN=cluster", "-keyout", "key.pem", "-out", "request.pem")
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "certificate.pem")
    openssl("x509", "-req", "-in", "request.pem", *signed)
    return folder


ROGUE = "def code_version():\n    return 'polarlab \\x1b[2J 9'\n"


def test_a_cluster_with_tls_is_used_by_those_who_have_its_certificates(swept, tmp_path):
    """And the first worker is a rogue, which says what would clear the screen."""
    pytest.importorskip("distributed")
    ours, strangers = make_certificates(tmp_path / "ours"), make_certificates(tmp_path / "strangers")
    rogue = tmp_path / "rogue" / "experiments" / "simulation"
    rogue.mkdir(parents=True)
    for name, text in (("../__init__", ""), ("__init__", ""), ("code_version", ROGUE)):
        (rogue / f"{name}.py").write_text(text)
    port = free_port()
    names = {"ca-file": "ca.pem", "cert": "certificate.pem", "key": "key.pem"}
    tls = [word for option, name in names.items() for word in (f"--tls-{option}", str(ours / name))]
    started = [start("scheduler", "--host", "tls://127.0.0.1", "--port", port, *tls)]
    worker = ("worker", f"tls://127.0.0.1:{port}", "--nthreads", "1", "--no-nanny", *tls)
    given = {"scheduler": f"tls://127.0.0.1:{port}", **TRUSTED, **SWEPT}
    try:
        started.append(start(*worker, "--local-directory", str(tmp_path), modules=tmp_path / "rogue"))
        with pytest.raises(MachineError, match="but must have") as raised:
            polarlab.sweep("polarfly", out=tmp_path / "swept", cluster_tls=ours, **given)
        assert "\x1b" not in str(raised.value)
        started[1].kill()
        started[1].wait()
        started.append(start(*worker, "--local-directory", str(tmp_path)))
        there = polarlab.sweep("polarfly", out=tmp_path / "swept", cluster_tls=ours, **given)
        assert table(there.folder) == table(swept.folder)
        with pytest.raises(MachineError, match="no scheduler answers"):
            polarlab.sweep("polarfly", out=tmp_path / "other", cluster_tls=strangers, **given)
    finally:
        for process in started:
            process.kill()
            process.wait()
    with pytest.raises(UsageError, match="cluster_tls"):
        polarlab.sweep("polarfly", out=tmp_path / "other", **given)

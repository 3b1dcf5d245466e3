"""Sweeps of simulations with failures and the controller's loop, and sweeps that share a folder."""

import json
import pickle
from dataclasses import replace

import pytest
from support.builders import records

import polarlab
from experiments.events.pace import Unthrottled
from experiments.events.progress import PointsSimulated
from experiments.results.parts.swept_values import joined
from experiments.results.run_directory import RunDirectory, kept_directory
from experiments.simulation.fabric import prepare_fabric
from experiments.simulation.task import task_of
from experiments.spec.experiment import Experiment
from simulation.settings import RouterSettings
from topology.errors import ParameterError, UsageError

FEW = {
    **{"q": 3, "hosts": 2, "engine": "simulation", "patterns": "tornado", "loads": [0.4]},
    **{"warmup": 300, "cycles": 600, "workers": 1},
}
FAULTS = "350 fail link:s1-s10\n450 fail switch:s7\n700 restore switch:s7\n"


@pytest.fixture
def schedule(tmp_path):
    """The file of a schedule of faults."""
    file = tmp_path / "faults.txt"
    file.write_text(FAULTS)
    return file


def swept(folder, **more):
    """Returns the results of a sweep."""
    return polarlab.sweep("polarfly", out=folder, **{**FEW, **more})


def table(results):
    """Returns the table of a sweep's points, without their times."""
    lines = (results.folder / "points.csv").read_text().splitlines()
    assert lines[0].endswith(",ended")
    return [line.rpartition(",")[0] for line in lines]


@pytest.mark.slow  # processes, and four simulations beside
def test_points_with_faults_are_those_of_simulate_in_all_processes(tmp_path, schedule):
    given = {"routings": "min,ugal-pf", "faults": schedule, "replan_cycles": 150}
    here, others = (swept(tmp_path / str(count), workers=count, **given) for count in (1, 2))
    assert table(here) == table(others)
    for point in here.points:
        ours = {"routing": point.routing, "pattern": point.pattern, "load": point.load}
        shared = {name: FEW[name] for name in ("q", "hosts", "warmup", "cycles")}
        one = polarlab.simulate(
            "polarfly", out=tmp_path / point.name, faults=schedule, replan_cycles=150, **ours, **shared
        ).summary
        assert here.summary(point).faults == others.summary(point).faults == one.faults
        assert here.summary(point).hops == one.hops
    assert (here.folder / "faults.txt").read_text().endswith(FAULTS)
    schedule.unlink()
    again = polarlab.sweep(again=here, out=tmp_path / "again", workers=1)
    assert table(again) == table(here)


def test_other_faults_are_another_sweep_and_may_vary(tmp_path, schedule):
    results = swept(tmp_path / "one", routings="min", faults=schedule)
    assert results.manifest.sweep.replan_cycles == 1000
    with pytest.raises(ParameterError, match="replan_cycles 1000, not 150"):
        swept(tmp_path / "one", routings="min", faults=schedule, replan_cycles=150)
    with pytest.raises(ParameterError, match="with faults"):
        swept(tmp_path / "one", routings="min")
    varied = swept(tmp_path / "two", routings="min", faults=schedule, vary="replan-cycles=50,none")
    late = [varied.summary(point).faults.replanned for point in varied.points]
    assert sorted(map(len, late))[0] == 0 < sorted(map(len, late))[1]
    drawn = swept(tmp_path / "three", routings="min", faults="mtbf:links=300,mttr=100", vary="seed=1,2")
    done = [drawn.summary(point).faults.done for point in drawn.points]
    assert done[0] != done[1]


def test_the_controllers_loop_is_that_of_each_routing(tmp_path):
    """Routings with one plan and other laws share tables, but not the loop."""
    given = {"decision": "buckets:period=40", "loads": [0.6]}
    vary = "ugal-pf.threshold=0.3,0.6"
    here, others = (
        swept(tmp_path / str(count), routings="ugal-pf", vary=vary, workers=count, **given)
        for count in (1, 2)
    )
    assert table(here) == table(others)
    for point in here.points:
        one = polarlab.simulate(
            "polarfly",
            out=tmp_path / point.name,
            decision="buckets:period=40",
            **{"q": 3, "hosts": 2, "warmup": 300, "cycles": 600},
            **{"routing": point.routing, "pattern": "tornado", "load": 0.6},
        ).summary
        assert (here.summary(point).hops, here.summary(point).detoured) == (one.hops, one.detoured)
    assert len({row.detoured for row in here.points.values()}) == 2


@pytest.mark.parametrize("more", [{"decision": "buckets:period=50"}, {"faults": True}])
def test_a_fabric_that_travelled_gives_the_same_result(schedule, more):
    """As on a cluster: the plan stays behind, and is made anew."""
    more = {"faults": str(schedule), "replan-cycles": 100} if "faults" in more else more
    given = {"topology": "polarfly", "q": 3, "hosts": 2, "warmup": 300, "cycles": 600, "load": 0.5}
    one = Experiment("simulate", {**given, "routing": "ugal-pf", "pattern": "tornado", **more}).resolve()
    fabric = prepare_fabric(one.fabric, lambda _event: None)
    travelled = pickle.loads(pickle.dumps(fabric))
    assert "plan" not in vars(travelled)
    results = [task_of(one.fabric, one.packets).run(each) for each in (fabric, travelled)]
    assert results[0].faults == results[1].faults
    assert results[0].result.hops.tolist() == results[1].result.hops.tolist()
    assert results[0].result.latency_sum == results[1].result.latency_sum


def test_points_with_other_routers_share_the_plan_of_their_fabric():
    asked = Experiment("simulate", {"topology": "polarfly", "q": 3, "load": 0.5}).resolve().fabric
    fabric = prepare_fabric(asked, lambda _event: None)
    other = fabric.changed(options=replace(asked, routers=RouterSettings(channels=8)))
    assert other.options.routers.channels == 8
    assert other.plan is fabric.plan
    assert other.tables is fabric.tables


def test_faults_and_replications_exclude_each_other(schedule, tmp_path):
    with pytest.raises(UsageError, match="cannot be combined"):
        swept(tmp_path / "one", faults=schedule, repeat=2)


def test_all_points_are_checked_before_the_first(tmp_path):
    with pytest.raises(UsageError, match="ugal-pf"):
        polarlab.sweep(
            "polarstar", q=3, supernode="iq", degree=3, engine="simulation", out=tmp_path / "one", workers=1
        )
    with pytest.raises(ParameterError, match=r"virtual.channels .* 4 "):
        swept(tmp_path / "one", routings="min,valiant", virtual_channels=2)
    with pytest.raises(UsageError, match="knows the hops"):
        swept(tmp_path / "one", routings="ugal,ugal-pf", decision="product")
    with pytest.raises(ParameterError, match="all replications"):
        swept(tmp_path / "one", seed=2**63 - 1, repeat=2)
    assert not (tmp_path / "one").exists()


def test_a_second_sweep_into_the_same_folder_is_refused(tmp_path):
    refused = []

    def begin_another(event):
        if isinstance(event, PointsSimulated):
            with pytest.raises(ParameterError, match="another process") as caught:
                swept(tmp_path / "one", routings="min")
            refused.append(caught.value)

    results = swept(tmp_path / "one", routings="min", progress=Unthrottled(begin_another))
    assert len(refused) == 1
    assert len(swept(tmp_path / "one", routings="min", loads=[0.1]).points) == 2
    assert {path.name for path in results.folder.iterdir()} >= {"manifest.json", "points.csv"}


def test_a_refused_folder_stays_as_it_is(tmp_path):
    """A sweep that has measured nothing yet has an empty folder, which the other must not remove."""
    with kept_directory(tmp_path / "one", resume=True) as directory:
        with pytest.raises(ParameterError), kept_directory(tmp_path / "one", resume=True):
            pass
        directory.append_row("points.csv", ["load"], {"load": 1})
    assert (tmp_path / "one" / "points.csv").exists()


def test_the_manifest_keeps_the_values_of_earlier_sweeps(tmp_path):
    first = swept(tmp_path / "one", routings="min", vary="speedup=1,2").manifest.sweep
    assert first.loads == (0.4,)
    more = {"patterns": "uniform", "loads": [0.1], "vary": "speedup=2,3"}
    results = swept(tmp_path / "one", routings="valiant", virtual_channels=4, **more)
    settings = results.manifest.sweep
    assert settings.routings == ("min", "valiant")
    assert settings.patterns == ("tornado", "uniform")
    assert settings.loads == (0.1, 0.4)
    assert settings.varied == {"speedup": (1, 2, 3)}
    assert len(results.points) == 4
    assert json.loads((results.folder / "manifest.json").read_text())["sweep"]["loads"] == [0.1, 0.4]


def test_settings_of_real_sweeps_are_widened_in_the_same_way(tmp_path):
    held = records.sweep_manifest(routings=("min",), patterns=("uniform",), loads=(0.5,))
    new = records.sweep_manifest(routings=("ugal",), patterns=("uniform",), loads=(0.1,))
    both = joined(new, held, RunDirectory(tmp_path, resume=True)).sweep
    assert (both.routings, both.patterns, both.loads) == (("min", "ugal"), ("uniform",), (0.1, 0.5))
    assert both.vary is None

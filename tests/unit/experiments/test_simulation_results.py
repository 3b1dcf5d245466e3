"""Results of simulations: summary of counts, folder, figures, report, comparison and repetition."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import polarlab
from experiments.codec import read_record
from experiments.events.pace import Unthrottled
from experiments.events.progress import SimulationProgress
from experiments.results.open import Simulation, open_results
from experiments.results.simulation.model import SimulationManifest, SimulationSummary
from experiments.results.simulation.summary import (
    deadlock_record,
    is_stable,
    manifest_of,
    summarise,
)
from experiments.simulation.fabric import check_channels, credit_flits, prepare_fabric
from experiments.simulation.memory import simulation_memory_bytes
from experiments.simulation.simulate import simulate_traffic
from experiments.spec.experiment import Experiment
from experiments.spec.fabric import FabricOptions
from routing.registry import make_plan
from simulation.result import Deadlock
from simulation.settings import RouterSettings
from topology.errors import MachineError, ParameterError, Terminated, UsageError
from topology.families.dragonflies.dragonfly import Dragonfly
from topology.families.hierarchical.megafly import Megafly
from topology.families.low_diameter.polarfly import PolarFly
from topology.registry import make_topology

# A simulation that takes a moment.
SHORT = {"q": 3, "hosts": 2, "load": 0.3, "warmup": 500, "cycles": 1500}


def simulation(**options):
    """Returns the specification of a simulation on ER_3."""
    return Experiment("simulate", {"topology": "polarfly", **SHORT, **options}).resolve()


@pytest.mark.parametrize("ordered", [True, False])
def test_simulated_routers_have_the_repairs_that_were_asked_for(ordered):
    chosen = simulation(routing="up-down", **{"ordered-repair": ordered})
    fabric = prepare_fabric(chosen.fabric, lambda _event: None)
    assert bool(fabric.plan.unprotected) is ordered
    assert manifest_of(chosen.fabric, chosen.traffic).ordered_repair is ordered


@pytest.fixture(scope="module")
def record():
    """A simulation at 0.3 of the capacity under minimal routing."""
    chosen = simulation()
    fabric = prepare_fabric(chosen.fabric, lambda _event: None)
    return simulate_traffic(fabric, chosen.traffic, lambda _event: None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of results of the same simulation."""
    return polarlab.simulate("polarfly", out=tmp_path_factory.mktemp("simulated") / "one", **SHORT).folder


def test_the_summary_is_that_of_the_counts(record):
    summary, result = summarise(record), record.result
    capacity = 26 * 1500 / 4
    assert summary.offered == pytest.approx(result.offered / capacity, abs=1e-6)
    assert summary.accepted == pytest.approx(result.accepted / capacity, abs=1e-6)
    assert summary.offered == pytest.approx(0.3, rel=0.05)
    assert summary.loss == 0
    assert summary.packets.received == summary.packets.sent
    assert summary.packets.under_way == 0
    assert sum(summary.hops.values()) == result.delivered
    everyone = np.repeat(np.arange(13), 2)
    distances = PolarFly(3).distances(everyone[:, None], everyone[None, :])
    assert summary.hops_mean == pytest.approx(distances.sum() / (26 * 25), rel=0.03)
    assert summary.latency_cycles.mean == pytest.approx(result.latency_sum / result.delivered, abs=1e-6)
    assert summary.latency_cycles.p50 <= summary.latency_cycles.p99 <= summary.latency_cycles.max
    assert summary.latency_frame_times.mean == pytest.approx(summary.latency_cycles.mean / 4, abs=1e-6)
    assert summary.predicted.accepted == pytest.approx(0.3)
    assert summary.links.load_mean == pytest.approx(summary.predicted.link_load_max, rel=0.2)
    assert (summary.warmup_cycles, summary.measured_cycles, summary.steady) == (500, 1500, None)
    assert summary.stable


def test_a_load_is_carried_or_not_by_the_published_rule(record):
    result = replace(record.result, offered=10_000, accepted=9_900, delivered=10_000, latency_sum=400_000)
    assert is_stable(result)
    assert not is_stable(replace(result, accepted=9_899, window=150_000))
    assert not is_stable(replace(result, latency_sum=5_000_000, window=150_000))
    assert not is_stable(
        replace(result, deadlock=Deadlock(cycle=9, waiting=1, arrived=0, cyclic_dependency=()))
    )
    assert not is_stable(replace(result, delivered=0))
    # Of a hundred packets, three more may be under way at the end than at the begin.
    few = replace(result, offered=100, accepted=97, delivered=100, latency_sum=2000, window=1500)
    assert is_stable(few)
    # The queues of a few overloaded sources lengthen the mean, and allow for no more.
    assert not is_stable(replace(few, latency_sum=40_000, accepted=90))
    assert not is_stable(replace(few, accepted=90))
    assert not is_stable(replace(few, accepted=98, delivered=98, dropped=2))


def test_a_deadlock_names_interfaces_and_channels():
    topology = PolarFly(3)
    last = 2 * topology.links - 1
    found = deadlock_record(
        Deadlock(cycle=70, waiting=5, arrived=30, cyclic_dependency=((0, 0), (last, 2))), topology
    )
    degree = int(topology.degrees[12])
    assert found.circle == ("s1-eth1", f"s13-eth{degree}")
    assert found.channels == (0, 2)
    assert found.text == (
        "deadlock in cycle 70: 5 packets wait for one another, 30 had arrived: s1-eth1 (channel 0) -> "
        f"s13-eth{degree} (channel 2) -> s1-eth1 (channel 0)"
    )


def test_the_folder_is_read_back(folder):
    results = open_results(folder)
    assert isinstance(results, Simulation)
    assert read_record(folder / "summary.json", SimulationSummary) == results.summary
    assert read_record(folder / "manifest.json", SimulationManifest) == results.manifest
    content = json.loads((folder / "summary.json").read_text())
    assert content["latency_ms"] is None
    assert content["deadlock"] is None
    assert content["routers"]["virtual_channels"] == 4
    loads = np.array([row.load for row in results.link_loads])
    assert len(loads) == 2 * PolarFly(3).links
    assert loads.max() == pytest.approx(results.summary.links.load_max, abs=1e-6)
    hosts = results.table("hosts.csv", ("host", "packets"))
    assert sum(map(int, hosts["packets"])) == results.summary.packets.arrived
    latencies = results.table("latency_cycles.csv", ("latency_cycles", "packets"))
    assert sum(map(int, latencies["packets"])) == results.summary.packets.received
    periods = results.table("periods.csv", ("end_cycle", "packets"))
    # Packets on their last link at a period's end count for that period.
    assert sum(map(int, periods["packets"])) == pytest.approx(results.summary.packets.arrived, abs=26)
    assert periods["end_cycle"][-1] == "2000"


def test_the_same_seed_gives_the_same_result(folder, tmp_path):
    again = polarlab.simulate(again=folder, out=tmp_path / "again")
    first = open_results(folder).summary
    same = replace(again.summary, seconds=first.seconds, bringup_s=first.bringup_s)
    assert same == first
    other = polarlab.simulate(again=folder, out=tmp_path / "other", seed=2)
    assert other.summary.packets != first.packets


def test_figures_report_and_comparison(folder, tmp_path):
    results = polarlab.open_results(folder)
    assert list(results.plot()) == ["throughput", "latency", "links"]
    page = results.report(tmp_path / "page.html").read_text()
    assert "latency_frame_times" in page
    assert "simulated" in page
    full = {**SHORT, "load": 1.0, "pattern": "tornado"}
    other = polarlab.simulate("polarfly", out=tmp_path / "other", **full)
    assert not other.stable
    comparison = polarlab.compare(results, other)
    assert comparison.kind == "simulations"
    assert comparison.differing["pattern"] == ["uniform", "tornado"]
    assert comparison.differing["load"] == [0.3, 1.0]
    assert comparison.same["routers.flow_control"] == "credit"
    assert comparison.results["stable"] == [True, False]
    comparison.draw(tmp_path / "both.png")
    assert "not stable" in other.report(tmp_path / "other.html").read_text()
    assert "stable=yes" in repr(results)


def test_a_simulation_is_no_run_to_be_compared(folder, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "summary.json").write_text("{}")
    with pytest.raises(ParameterError, match=r"got a simulation .* and a run"):
        polarlab.compare(folder, tmp_path / "run")


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, Terminated])
def test_an_interrupted_simulation_keeps_what_was_measured(tmp_path, interruption):
    def interrupt(event):
        if isinstance(event, SimulationProgress) and event.cycles > 2500:
            raise interruption

    out = tmp_path / "interrupted"
    with pytest.raises(KeyboardInterrupt):
        polarlab.simulate("polarfly", out=out, progress=Unthrottled(interrupt), **{**SHORT, "cycles": 9000})
    summary = polarlab.open_results(out).summary
    assert summary.interrupted
    assert 2000 <= summary.measured_cycles < 9000
    assert polarlab.open_results(out).plot()
    shorter = polarlab.simulate(again=out, cycles=summary.measured_cycles, out=tmp_path / "shorter").summary
    assert summary.packets.sent == shorter.packets.sent
    assert summary.offered == shorter.offered


def test_nothing_stays_of_a_simulation_that_cannot_be(tmp_path):
    with pytest.raises(UsageError):
        polarlab.simulate("slimfly", q=5, routing="ugal-pf", out=tmp_path / "none")
    with pytest.raises(ParameterError, match=r"virtual_channels .* 4 "):
        polarlab.simulate("polarfly", q=3, routing="valiant", virtual_channels=3, out=tmp_path / "none")
    with pytest.raises(UsageError, match="knows the hops"):
        polarlab.simulate("polarfly", q=3, routing="ugal-pf", decision="product", out=tmp_path / "none")
    settings = {"routing": "ugal", "decision": "piggyback", "virtual_channels": 16}
    with pytest.raises(UsageError, match="got jellyfish"):
        polarlab.simulate("jellyfish", routers=20, degree=4, **settings, out=tmp_path / "none")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("routing", "needed"), [("min", 2), ("compact-valiant", 4), ("valiant", 4)])
def test_a_channel_for_each_hop_of_the_longest_path(routing, needed):
    plan = make_plan(PolarFly(3), 1, routing)
    check_channels(plan, RouterSettings(channels=needed))
    with pytest.raises(ParameterError, match=f"must be {needed} or more"):
        check_channels(plan, RouterSettings(channels=needed - 1))
    check_channels(plan, RouterSettings(channels=1, channel_policy="any"))
    check_channels(plan, RouterSettings(channels=1, flow_control="drop"))


@pytest.mark.parametrize(("routing", "needed"), [("hierarchical", 2), ("valiant:over=hierarchical", 4)])
def test_two_channels_for_each_hierarchical_half_of_a_path(routing, needed):
    plan = make_plan(Dragonfly(a=4, h=2), 1, routing)
    check_channels(plan, RouterSettings(channels=needed, channel_policy="level"))
    with pytest.raises(ParameterError, match=f"must be {needed} or more"):
        check_channels(plan, RouterSettings(channels=needed - 1, channel_policy="level"))


def test_routers_without_hosts_need_no_channels():
    plan = make_plan(Megafly(rho=1, a=4), 1, "min")  # 3 hops between leaves, 4 from spine to spine
    assert plan.topology.diameter == 4
    check_channels(plan, RouterSettings(channels=3))
    with pytest.raises(ParameterError, match="must be 3 or more"):
        check_channels(plan, RouterSettings(channels=2))


def test_what_a_user_may_not_expect_is_told(tmp_path):
    events = []
    options = {**SHORT, "link_cycles": 40, "routing": "ugal-pf:threshold=0.5,margin=0.2", "buffer_flits": 32}
    polarlab.simulate("polarfly", out=tmp_path / "told", progress=events.append, **options)
    [credits] = [event for event in events if event.key == "credits-too-few"]
    assert credits.values["needed_flits"] == credit_flits(RouterSettings(link_cycles=40)) == 4 + 40 + 2 + 2
    assert credit_flits(RouterSettings(link_cycles=10, global_link_cycles=70)) == 4 + 70 + 2 + 2
    assert credit_flits(RouterSettings(link_cycles=70, global_link_cycles=10)) == 4 + 70 + 2 + 2
    [unused] = [event for event in events if event.key == "parameters-unused"]
    assert unused.values["names"] == ("margin",)
    assert not [event for event in events if event.key == "simulation-unstable"]


@pytest.mark.parametrize("settings", [{"decision": "buckets"}, {"flow_control": "drop"}])
def test_a_buffer_without_effect_is_reported(tmp_path, settings):
    events, routing = [], "ugal-pf:buffer=port"
    options = {**SHORT, "routing": routing, **settings}
    polarlab.simulate("polarfly", out=tmp_path / "told", progress=events.append, **options)
    [unused] = [event for event in events if event.key == "parameters-unused"]
    assert unused.values["names"] == ("buffer",)


def test_progress_has_cycles_a_second():
    event = SimulationProgress(4000, 8000, 120, 51_234.0)
    assert event.fraction == 0.5
    assert str(event) == "4,000 cycles, 120 packets arrived, 51,234 cycles per second"
    assert SimulationProgress(4000, None, 120, 1.0).fraction is None


def test_a_window_too_short_for_packets_is_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"^cycles .* 571429 .* 1e-05, .* got 50"):
        polarlab.simulate("polarfly", q=2, load=1e-5, warmup=0, cycles=50, out=tmp_path / "one")
    assert not (tmp_path / "one").exists()


def test_a_load_of_which_no_packet_was_born_is_carried(record):
    assert is_stable(replace(record.result, offered=0, accepted=0, delivered=0))


def test_what_does_not_fit_into_the_memory_is_refused_before_it_is_planned(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.simulation.memory.available_memory_bytes", lambda: 2**29)
    out, buffers = tmp_path / "one", {"virtual_channels": 16, "buffer_flits": 65536}
    with pytest.raises(MachineError, match=r"13 routers .* 1\.0 GiB .* 0\.5 GiB"):
        polarlab.simulate("polarfly", q=3, hosts=2, out=out, **buffers)
    assert not out.exists()


@pytest.mark.parametrize(
    ("topology", "hosts", "routing", "gib"),
    [
        (("polarfly", {"q": 31}), 16, "ugal:intermediates=4094", (2.0, 4.2)),  # measured: 2.0
        (("slimfly", {"q": 23}), 18, "ugal:intermediates=4094", (4.2, 8.4)),  # 6.0
        (("jellyfish", {"routers": 993, "degree": 32}), 16, "ugal:intermediates=256", (5, 17)),  # 17
    ],
)
def test_the_memory_of_detours_is_estimated_within_a_factor(topology, hosts, routing, gib):
    """Networks with many minimal paths have ten times as many groups as PolarFly, each with its detours."""
    name, params = topology
    fabric = FabricOptions(name, params, make_topology(name, params), hosts, routing)
    assert gib[0] < simulation_memory_bytes(fabric) / 2**30 < gib[1]


def test_compiling_in_every_run_is_printed_with_the_remedy():
    code = (
        "import polarlab, experiments.simulation.fabric as fabric; fabric.is_compiled = lambda _: False; "
        "fabric.prepare_fabric(polarlab.Experiment('simulate', {'topology': 'polarfly', 'q': 2})"
        ".resolve().fabric, print)"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": "/proc/kernels", "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert "in every run" in done.stdout
    assert "set NUMBA_CACHE_DIR" in done.stdout


def test_the_first_compilation_is_told(tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr("experiments.simulation.fabric.is_compiled", lambda kernel: kernel == "drop")
    short = {"q": 2, "load": 0.5, "warmup": 0, "cycles": 50, "progress": told.append}
    polarlab.simulate("polarfly", out=tmp_path / "one", **short)
    assert "compiling" in " ".join(str(event) for event in told if event.key == "kernels-compiled")
    told.clear()
    polarlab.simulate("polarfly", out=tmp_path / "two", flow_control="drop", **short)
    assert not any(event.key == "kernels-compiled" for event in told)

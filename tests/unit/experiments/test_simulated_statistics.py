"""Intervals of simulations: their coverage on known processes, and replications of `simulate --repeat`."""

import json

import numpy as np
import pytest
from support.fixtures.command_line import fails, prints_json

import polarlab
from experiments.events.pace import Unthrottled
from experiments.events.progress import SimulationProgress
from experiments.results.simulation.batch_means import MAX_BATCHES, MIN_BATCHES, batch_interval
from polarlab.cli import main as entry
from topology.errors import Status

SHORT = {"q": 3, "hosts": 2, "warmup": 300, "cycles": 1500, "load": 0.3}


def autoregressive(correlation, periods, series, seed=7):
    """Returns series of a process of mean 0: float64 array, (series, periods)."""
    noise = np.random.default_rng(seed).standard_normal((series, periods + 100))
    values = np.zeros_like(noise)
    for number in range(1, noise.shape[1]):
        values[:, number] = correlation * values[:, number - 1] + noise[:, number]
    return values[:, 100:]


def intervals(series, weights=None):
    """Returns the intervals of some series."""
    weights = np.ones(series.shape[1]) if weights is None else weights
    return [batch_interval(one, weights, 10) for one in series]


@pytest.mark.parametrize(("correlation", "periods"), [(0.0, 30), (0.5, 600), (0.8, 1500)])
def test_an_interval_covers_the_mean_as_often_as_it_says(correlation, periods):
    found = [one for one in intervals(autoregressive(correlation, periods, 3000)) if one.ci95]
    assert len(found) > 2800
    covered = np.mean([abs(one.mean) <= one.ci95 for one in found])
    assert 0.93 <= covered <= 0.97


def test_the_mean_wait_of_a_queue_is_covered():
    """A queue with Poisson arrivals and constant service, whose mean wait is rho / (2 (1 - rho))."""
    load, packets, covered, known = 0.6, 60_000, 0, 0
    for seed in range(60):
        gaps = np.random.default_rng(seed).exponential(1 / load, packets + 1000)
        steps = np.cumsum(1 - gaps)  # of Lindley's recursion
        waits = (steps - np.minimum.accumulate(np.minimum(steps, 0)))[1000:]
        sums = waits.reshape(600, -1).sum(axis=1)
        one = batch_interval(sums, np.full(600, packets / 600), 10)
        known += one.ci95 is not None
        covered += one.ci95 is not None and abs(one.mean - load / (2 * (1 - load))) <= one.ci95
    assert known >= 54
    assert covered / known >= 0.9


def test_batches_are_merged_until_they_are_nearly_independent():
    """Periods that differ by twos are one batch each two; the number of batches is bounded."""
    pairs = np.repeat(np.random.default_rng(3).standard_normal(15), 2)
    one = batch_interval(pairs, np.ones(30), 10)
    assert (len(one.values), one.batch_cycles) == (15, 20)
    long = batch_interval(np.random.default_rng(3).standard_normal(1000), np.ones(1000), 10)
    assert MIN_BATCHES <= len(long.values) <= MAX_BATCHES


def test_a_window_that_is_too_short_has_no_interval():
    trend = batch_interval(np.arange(30.0), np.ones(30), 10)
    assert trend.ci95 is None
    assert trend.autocorrelation > 0.2
    assert trend.mean == pytest.approx(14.5)
    assert batch_interval(np.zeros(30), np.zeros(30), 10) is None


def test_equal_batches_have_an_interval_of_no_width():
    one = batch_interval(np.full(30, 0.1), np.ones(30), 10)
    assert (one.ci95, one.autocorrelation) == (0, None)


@pytest.mark.parametrize("flow_control", ["credit", "drop"])
@pytest.mark.parametrize("links", [{}, {"link_cycles": 2, "global_link_cycles": 11}])
def test_a_simulation_tells_the_intervals_of_its_means(tmp_path, flow_control, links):
    results = polarlab.simulate("polarfly", out=tmp_path / "one", flow_control=flow_control, **SHORT, **links)
    summary = results.summary
    means = summary.batches
    assert means.accepted.mean == pytest.approx(summary.accepted, rel=0.02)
    assert means.latency_mean_cycles.mean == pytest.approx(summary.latency_cycles.mean, rel=0.02)
    assert means.queueing_frame_times.mean == pytest.approx(summary.queueing_frame_times, rel=0.15)
    assert len(means.accepted.values) * means.accepted.batch_cycles <= 1500
    assert "Means over batches" in results.report().read_text()


def test_the_length_of_periods_changes_no_packet(tmp_path):
    """Periods of 50 cycles here, of 100 with faults that come after the traffic."""
    one = polarlab.simulate("polarfly", out=tmp_path / "one", **SHORT).summary
    schedule = tmp_path / "faults.txt"
    schedule.write_text("1799 fail controller\n")
    other = polarlab.simulate("polarfly", out=tmp_path / "other", faults=schedule, **SHORT).summary
    assert (one.hops, one.latency_cycles, one.packets) == (other.hops, other.latency_cycles, other.packets)
    assert other.batches is None


def test_intervals_that_are_not_known_are_told(tmp_path):
    told = []
    given = {**SHORT, "cycles": 60}
    summary = polarlab.simulate("polarfly", out=tmp_path / "one", progress=told.append, **given).summary
    unknown = [event for event in told if event.key == "intervals-unknown"]
    assert [event.values["names"] for event in unknown] == [summary.batches.unknown]
    assert "raise --cycles" in str(unknown[0])


def test_replications_are_those_of_single_simulations(tmp_path):
    told = []
    results = polarlab.simulate("polarfly", out=tmp_path / "all", repeat=3, progress=told.append, **SHORT)
    ones = [polarlab.simulate("polarfly", out=tmp_path / str(seed), seed=seed, **SHORT) for seed in (1, 2, 3)]
    assert [one.summary.hops for one in results.replications] == [one.summary.hops for one in ones]
    assert results.summary.repeat.seeds == (1, 2, 3)
    assert results.summary.batches is None
    mean = sum(one.summary.accepted for one in ones) / 3
    assert results.summary.accepted == pytest.approx(mean, abs=1e-6)
    assert results.summary.repeat.accepted.ci95 > 0
    assert sum("planned and compiled" in str(event) for event in told) == 1
    assert sum(event.key == "replication-started" for event in told) == 3
    again = polarlab.simulate(again=tmp_path / "all" / "seed-2", out=tmp_path / "again")
    assert again.summary.repeat is None
    assert again.summary.hops == ones[1].summary.hops
    assert len(polarlab.simulate(again=tmp_path / "all", out=tmp_path / "more").replications) == 3


def test_replications_are_drawn_reported_and_tabulated(tmp_path):
    pandas = pytest.importorskip("pandas")
    results = polarlab.simulate("polarfly", out=tmp_path / "all", repeat=2, **SHORT)
    assert isinstance(polarlab.open_results(tmp_path / "all"), polarlab.Simulation)
    assert {"replications", "seed-1/links", "seed-2/latency"} <= set(results.plot())
    page = results.report().read_text()
    assert "2 of 2 replications, with the seeds 1, 2" in page
    assert "Seed 2" in page
    assert list(results.to_frame()["seed"]) == [1, 2]
    assert set(results.to_frame("periods")["seed"]) == {1, 2}
    assert isinstance(results.to_frame(), pandas.DataFrame)
    other = polarlab.simulate("polarfly", out=tmp_path / "other", **SHORT)
    assert polarlab.compare(results, other).results["accepted"]


def test_ctrl_c_keeps_the_replications_until_then(tmp_path):
    begun = []

    def interrupt(event):
        begun.extend([event] if event.key == "replication-started" else [])
        if len(begun) == 2 and isinstance(event, SimulationProgress) and event.cycles > 900:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        polarlab.simulate(
            "polarfly", out=tmp_path / "all", repeat=3, progress=Unthrottled(interrupt), **SHORT
        )
    kept = polarlab.Simulation(tmp_path / "all").summary
    assert kept.interrupted
    assert (kept.repeat.asked, kept.repeat.seeds) == (3, (1,))
    first = polarlab.Simulation(tmp_path / "all" / "seed-1").summary
    assert kept.accepted == first.accepted
    assert polarlab.Simulation(tmp_path / "all" / "seed-2").summary.interrupted


def test_an_interrupted_simulation_keeps_the_open_period(tmp_path):
    def interrupt(event):
        if isinstance(event, SimulationProgress) and event.cycles > 900:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        polarlab.simulate("polarfly", out=tmp_path / "one", progress=Unthrottled(interrupt), **SHORT)
    results = polarlab.Simulation(tmp_path / "one")
    summary = results.summary
    ends = [row.split(",")[0] for row in (tmp_path / "one" / "periods.csv").read_text().splitlines()[1:]]
    assert int(ends[-1]) == summary.warmup_cycles + summary.measured_cycles


@pytest.mark.slow  # it draws the figures of six simulations
def test_means_are_printed(capsys, tmp_path):
    words = "simulate polarfly --q 3 --warmup 300 --cycles 600"
    result = prints_json(capsys, f"{words} --repeat 2 --out {tmp_path / 'two'} --json")
    assert result == json.loads((tmp_path / "two" / "summary.json").read_text())
    assert entry.main([*words.split(), "--repeat", "2", "--out", str(tmp_path / "text")]) == Status.DONE
    assert "mean over seeds" in capsys.readouterr().out
    assert entry.main([*words.split(), "--out", str(tmp_path / "one")]) == Status.DONE
    assert "mean over batches" in capsys.readouterr().out


def test_repeat_excludes_what_it_excludes_in_run(capsys, tmp_path):
    words = "simulate polarfly --q 3 --warmup 300 --cycles 600"
    none = f"--out {tmp_path / 'none'}"
    faults = "--faults mtbf:links=100,mttr=50"
    for more, message in (
        (f"--repeat 2 {faults}", "cannot be combined"),
        ("--repeat 2 --pattern allreduce:ring", "--repeat does not apply to collectives"),
        (f"--repeat 2 --seed {2**63 - 1}", "seeds of all replications must be at most"),
    ):
        given = words.replace(" --warmup 300 --cycles 600", "") if "allreduce" in more else words
        assert message in fails(capsys, f"{given} {more} {none}", Status.USAGE)
    assert not (tmp_path / "none").exists()

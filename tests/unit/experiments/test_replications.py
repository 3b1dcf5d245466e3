"""Means over seeds and how sure they are."""

import json

import pytest
from support.builders import records
from support.builders.result_folders import write_run

from experiments.results.model import Adaptation, Fidelity, Latencies, LinkSummary, PacketCounts, Predicted
from experiments.results.open import Run
from experiments.results.parts.replications import Interval
from experiments.results.replications import combine, interval
from topology.errors import ParameterError


def summary(seed, accepted, valid=True, hops=None, latency=1.0, **changes):
    return records.summary(
        seed=seed,
        accepted=accepted,
        loss=0.0,
        latency_ms=Latencies(latency, latency, latency, latency),
        packets=PacketCounts(10, 9),
        hops=hops or {1: 2, 2: 7},
        out_of_order=1,
        fidelity=Fidelity(
            valid,
            () if valid else ("too slow",),
            cpu_idle=0.5 if valid else 0.1,
            generator_lag_ms_p99=0.1 * seed,
            link_rate_error=None if seed == 1 else -0.01 * seed,
            links_saturated=seed,
            lost_outside_queues=0.0,
        ),
        **changes,
    )


def test_the_interval_is_students():
    # By a table of t: 2.776 for four degrees of freedom; the standard deviation of 1 .. 5 is 1.5811.
    mean, half = interval([1, 2, 3, 4, 5])
    assert mean == 3
    assert half == pytest.approx(2.776 * 1.5811 / 5**0.5, rel=1e-3)


def test_a_single_value_has_no_interval():
    assert interval([4.0]) == (4.0, None)


def test_one_run_that_is_left_is_combined_as_one_of_several():
    combined = combine([summary(1, 0.4)], 3)
    assert combined.accepted == 0.4
    assert combined.repeat.accepted == Interval(0.4, None, (0.4,))


def test_an_interrupted_run_does_not_count_where_others_do():
    combined = combine([summary(1, 0.4), summary(2, 0.4), summary(3, 0.1, interrupted=True)], 3)
    assert combined.repeat.seeds == (1, 2)
    assert combined.repeat.asked == 3
    assert combined.interrupted is True
    assert not combined.fidelity.valid
    assert "interrupted" in combined.fidelity.reasons[-1]
    alone = combine([summary(3, 0.1, interrupted=True)], 3)
    assert alone.repeat.seeds == (3,)


def test_loads_predictions_and_adaptation_are_of_all_runs():
    runs = [
        summary(
            seed,
            0.4,
            predicted=Predicted(0.1 * seed, 1.0),
            links=LinkSummary(seed, 0.5, None, 10 * seed),
            adaptation=Adaptation("netlink", 5),
        )
        for seed in (1, 2)
    ]
    combined = combine(runs, 3)
    assert combined.predicted.accepted == pytest.approx(0.15)
    assert combined.links == LinkSummary(1.5, 0.5, None, 30)
    assert combined.adaptation.groups_modified == 10


def test_a_run_whose_links_nobody_could_see_is_left_out_of_their_loads():
    links = LinkSummary(0.5, 0.2, 1.0, 7)
    assert combine([summary(1, 0.4, links=links), summary(2, 0.4)], 2).links == links


def test_runs_are_one_with_means_sums_and_the_worst():
    runs = [summary(1, 0.4), summary(2, 0.5, valid=False, hops={2: 1, 10: 4}), summary(3, 0.6)]
    combined = combine(runs, 3)
    assert combined.accepted == pytest.approx(0.5)
    assert combined.repeat.accepted.values == (0.4, 0.5, 0.6)
    assert combined.repeat.accepted.ci95 == pytest.approx(4.303 * 0.1 / 3**0.5, rel=1e-3)
    assert combined.repeat.seeds == (1, 2, 3)
    assert combined.packets == PacketCounts(30, 27)
    assert list(combined.hops.items()) == [(1, 4), (2, 15), (10, 4)]
    assert combined.fidelity.valid is False
    assert combined.fidelity.reasons == ("seed 2: too slow",)
    assert combined.fidelity.cpu_idle == 0.1
    assert combined.fidelity.link_rate_error == -0.03
    assert combined.fidelity.generator_lag_ms_p99 == pytest.approx(0.3)


def test_a_run_without_latencies_is_left_out_of_their_mean():
    combined = combine([summary(1, 0.4, latency=None), summary(2, 0.4, latency=3.0)], 3)
    assert combined.latency_ms.mean == 3.0
    assert combined.repeat.latency_mean_ms.ci95 is None


@pytest.mark.parametrize("seeds", [[1] * 2, list(range(2000))])
def test_results_that_name_seeds_again_and_again_are_damaged(tmp_path, seeds):
    folder = write_run(tmp_path / "run")
    path = folder / "summary.json"
    content = json.loads(path.read_text())
    content["repeat"] = {"asked": len(seeds), "seeds": seeds}
    path.write_text(json.dumps(content))
    with pytest.raises(ParameterError, match=r"seeds .* 1000"):
        Run(folder).check()

"""Means over seeds and how sure they are."""

import pytest

from experiments.results.replications import combine, interval


def summary(seed, accepted, valid=True, hops=None, latency=1.0):
    return {
        "seed": seed,
        "offered": 0.5,
        "accepted": accepted,
        "loss": 0.0,
        "latency_ms": dict.fromkeys(("mean", "p50", "p99", "p99_9"), latency),
        "packets": {"sent": 10, "received": 9},
        "hops": hops or {"1": 2, "2": 7},
        "hops_as_distances": True,
        "out_of_order": 1,
        "links": None,
        "fidelity": {
            "valid": valid,
            "reasons": [] if valid else ["too slow"],
            "cpu_idle": 0.5 if valid else 0.1,
            "generator_lag_ms_p99": 0.1 * seed,
            "link_rate_error": None if seed == 1 else -0.01 * seed,
            "links_saturated": seed,
            "lost_outside_queues": 0.0,
        },
    }


def test_the_interval_is_students():
    # By a table of t: 2.776 for four degrees of freedom; the standard deviation of 1 .. 5 is 1.5811.
    mean, half = interval([1, 2, 3, 4, 5])
    assert mean == 3
    assert half == pytest.approx(2.776 * 1.5811 / 5**0.5, rel=1e-3)


def test_a_single_value_has_no_interval():
    assert interval([4.0]) == (4.0, None)


def test_one_run_that_is_left_is_told_as_one_of_several():
    told = combine([summary(1, 0.4)], 3)
    assert told["accepted"] == 0.4
    assert told["repeat"]["accepted"] == {"mean": 0.4, "ci95": None, "values": [0.4]}


def test_an_interrupted_run_does_not_count_where_others_do():
    told = combine([summary(1, 0.4), summary(2, 0.4), {**summary(3, 0.1), "interrupted": True}], 3)
    assert told["repeat"]["seeds"] == [1, 2]
    assert told["repeat"]["asked"] == 3
    assert told["interrupted"] is True
    alone = combine([{**summary(3, 0.1), "interrupted": True}], 3)
    assert alone["repeat"]["seeds"] == [3]


def test_loads_predictions_and_adaptation_are_of_all_runs():
    runs = [
        {
            **summary(seed, 0.4),
            "predicted": {"accepted": 0.1 * seed},
            "links": {"load_max": seed, "jain": None, "dropped_packets": 10 * seed},
            "adaptation": {"occupancy": "netlink", "groups_modified": 5, "warnings": []},
        }
        for seed in (1, 2)
    ]
    told = combine(runs, 3)
    assert told["predicted"]["accepted"] == pytest.approx(0.15)
    assert told["links"] == {"load_max": 1.5, "jain": 0, "dropped_packets": 30}
    assert told["adaptation"]["groups_modified"] == 10


def test_a_run_whose_links_nobody_could_see_is_left_out_of_their_loads():
    runs = [{**summary(1, 0.4), "links": {"load_max": 0.5, "dropped_packets": 7}}, summary(2, 0.4)]
    assert combine(runs, 2)["links"] == {"load_max": 0.5, "dropped_packets": 7}


def test_runs_are_one_with_means_sums_and_the_worst():
    runs = [summary(1, 0.4), summary(2, 0.5, valid=False, hops={"2": 1, "10": 4}), summary(3, 0.6)]
    told = combine(runs, 3)
    assert told["accepted"] == pytest.approx(0.5)
    assert told["repeat"]["accepted"]["values"] == [0.4, 0.5, 0.6]
    assert told["repeat"]["accepted"]["ci95"] == pytest.approx(4.303 * 0.1 / 3**0.5, rel=1e-3)
    assert told["repeat"]["seeds"] == [1, 2, 3]
    assert told["packets"] == {"sent": 30, "received": 27}
    assert list(told["hops"].items()) == [("1", 4), ("2", 15), ("10", 4)]
    assert told["fidelity"]["valid"] is False
    assert told["fidelity"]["reasons"] == ["seed 2: too slow"]
    assert told["fidelity"]["cpu_idle"] == 0.1
    assert told["fidelity"]["link_rate_error"] == -0.03
    assert told["fidelity"]["generator_lag_ms_p99"] == pytest.approx(0.3)


def test_a_run_without_latencies_is_left_out_of_their_mean():
    told = combine([summary(1, 0.4, latency=None), summary(2, 0.4, latency=3.0)], 3)
    assert told["latency_ms"]["mean"] == 3.0
    assert told["repeat"]["latency_mean_ms"]["ci95"] is None

"""Jobs and measurements between processes: as JSON and as files."""

import json

import numpy as np

from traffic.engine import measurement_files
from traffic.engine.jobs import CollectiveJob, HostSocket, collective_job_from_dict
from traffic.engine.measurement_files import (
    Checkpoints,
    load_outcome,
    load_received,
    loaded_or,
    store_outcome,
)
from traffic.metrics.histogram import LogHistogram
from traffic.metrics.measurements import (
    ARRIVAL,
    ITERATION,
    CollectiveOutcome,
    Received,
    Sent,
    no_packets_received,
)


def histogram(*durations_ns):
    counted = LogHistogram()
    counted.add(np.array(durations_ns))
    return counted


def outcome(iterations):
    pairs = np.arange(9).reshape(3, 3)
    sent = Sent(pairs, pairs, np.ones((4, 3), np.int64), 2, histogram(1000, 2000), 1.5)
    received = Received(
        frames=pairs,
        run_frames=pairs,
        latency_sum_ns=pairs * 0.5,
        out_of_order=pairs % 2,
        hops_min=pairs.astype(np.uint8),
        hops_max=pairs.astype(np.uint8),
        hops=np.arange(256),
        bytes=np.ones((4, 3), np.int64),
        window_bytes=np.arange(3),
        latency=histogram(5000),
        last_ns=6000,
        misdelivered=1,
        damaged=0,
        log=np.zeros(0, ARRIVAL),
    )
    records = np.array([(64, number, 10, 20, 0, 3) for number in range(iterations)], ITERATION)
    finished_ns = np.full((iterations, 2), 20)
    return CollectiveOutcome(sent, received, np.array([2, 0]), records, finished_ns, 3, 40, 39, "rank 1 died")


def same(one, other):
    if isinstance(one, LogHistogram):
        return one.total_ns == other.total_ns and np.array_equal(one.counts, other.counts)
    if isinstance(one, Sent | Received | CollectiveOutcome):
        return all(same(value, getattr(other, name)) for name, value in vars(one).items())
    return np.array_equal(one, other)


def test_an_outcome_is_read_back_as_it_was_stored(tmp_path):
    for iterations in (0, 3):
        stored = outcome(iterations)
        store_outcome(stored, tmp_path / "outcome.npz")
        loaded = load_outcome(tmp_path / "outcome.npz")
        assert same(stored, loaded)
        assert (loaded.failed, loaded.resent, type(loaded.resent)) == ("rank 1 died", 3, int)


def test_a_collectives_job_survives_json():
    hosts = tuple(HostSocket(f"h{k}_1", k, f"h{k}_1-eth0", 40 + k, f"s{k}-eth3", 50 + k) for k in (1, 2))
    job = CollectiveJob(
        hosts=hosts,
        ranks=(1, 0),
        name="allreduce",
        algorithm="ring",
        message_bytes=(64, 4096),
        iterations=5,
        warmup_iterations=1,
        slices=2,
        template=b"\x00\xff",
        frame_bytes=1000,
        run=7,
        flows=4,
        seed=3,
        max_in_flight=24,
        acknowledge_after_ns=1000,
        silence_ns=10**9,
        interval_ns=10**6,
    )
    assert collective_job_from_dict(json.loads(json.dumps(job.to_dict()))) == job


def test_a_checkpoint_is_left_of_a_collector_that_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(measurement_files, "CHECKPOINT_EVERY_S", 0.0)
    path = tmp_path / "collect.npz"
    nothing = no_packets_received(3)
    assert loaded_or(nothing, load_received, path) is nothing
    Checkpoints(path, pairs=9).keep(lambda: outcome(0).received)
    left = loaded_or(nothing, load_received, path)
    assert left.frames.tolist() == np.arange(9).reshape(3, 3).tolist()


def test_counts_of_very_many_pairs_have_no_checkpoints(tmp_path, monkeypatch):
    monkeypatch.setattr(measurement_files, "CHECKPOINT_EVERY_S", 0.0)
    Checkpoints(tmp_path / "collect.npz", pairs=1_000_000).keep(lambda: 1 / 0)
    assert not list(tmp_path.iterdir())

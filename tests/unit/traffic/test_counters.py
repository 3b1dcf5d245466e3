"""What the collector counts, fed with frames from memory instead of sockets."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest

from topology.addressing import Host
from traffic.engine import collector
from traffic.engine.collector import ProbeCounts
from traffic.engine.jobs import HostSocket, TrafficJob, job_from_dict
from traffic.engine.measurement_files import load_received, load_sent, store
from traffic.engine.telemetry import CountReporter
from traffic.metrics import window as window_module
from traffic.metrics.counters import CounterSettings, SentCounter
from traffic.metrics.histogram import LogHistogram
from traffic.metrics.measurements import Clock, Sent
from traffic.metrics.reordering import MAX_REMEMBERED, DuplicateDetector
from traffic.metrics.window import LateWindowError, Window
from traffic.wire.probe_codec import FrameBuffer
from traffic.wire.probe_frame import build_probe
from traffic.wire.tags import Tagger, new_key
from traffic.workload.patterns import Pattern
from traffic.workload.schedule import PatternSchedule, schedule_from_dict

HOSTS = (Host(9, 0, 9), Host(0, 0, 0), Host(4, 1, 4))  # not in the order of their addresses
STRANGER = Host(70, 0, 70)
CLOCK = Clock(monotonic_ns=5, epoch_ns=1_700_000_000_000_000_000)
MS = 1_000_000
WINDOW = (100 * MS, 200 * MS)
JOB = TrafficJob(
    hosts=tuple(HostSocket(host.name, host.ip, f"{host.name}-eth0", 1, "", 1) for host in HOSTS),
    schedule=PatternSchedule(Pattern("uniform", 3), 100.0, 400 * MS, 4, 1).to_dict(),
    template=build_probe(HOSTS[0], HOSTS[1], frame_bytes=120, run=3),
    run=3,
    flows=4,
    window_ns=WINDOW,
    quiet_ns=0,
    interval_ns=50 * MS,
)


@dataclass
class Packet:
    """One packet; times since the schedule's start. `at` is the host that gets it: its own by default."""

    source: int = 0
    destination: int = 1
    sequence: int = 0
    flow: int = 0
    sent_ns: int = 150 * MS
    took_ns: int = 2 * MS
    hops: int = 1
    at: int | None = None
    source_ip: int | None = None
    damaged: bool = False
    made_up: bool = False
    length: int = 120


class MemoryBuffer:
    """Stands in for sockets.ReceiveBuffer: the frames of packets as they were received."""

    def __init__(self, packets: list[Packet]) -> None:
        right, wrong = (FrameBuffer(JOB.template, len(packets), Tagger(key)) for key in (JOB.key, new_key()))
        self._fill(right, packets)
        self._fill(wrong, packets)
        views = [(wrong if packet.made_up else right).views[at] for at, packet in enumerate(packets)]
        self.frames = np.frombuffer(b"".join(views), np.uint8).reshape(len(packets), -1)
        self._packets = packets

    @staticmethod
    def _fill(frames: FrameBuffer, packets: list[Packet]) -> None:
        ips = [host.ip for host in HOSTS]
        frames.fill(
            np.array([ips[p.source] if p.source_ip is None else p.source_ip for p in packets], np.uint32),
            np.array([ips[p.destination] for p in packets], np.uint32),
            np.array([p.flow for p in packets]),
            np.array([p.sequence for p in packets]),
        )
        for index, packet in enumerate(packets):
            frames.stamp(index, index + 1, CLOCK.epoch_ns + packet.sent_ns)
            frames.views[index][22] = 64 - packet.hops  # the time to live
            frames.views[index][93] ^= packet.damaged

    def arrivals_ns(self, count: int) -> np.ndarray:
        return np.array([CLOCK.epoch_ns + p.sent_ns + p.took_ns for p in self._packets[:count]])

    def lengths(self, count: int) -> np.ndarray:
        return np.array([p.length for p in self._packets[:count]])


def received(*batches: list[Packet], job: TrafficJob = JOB):
    """What is counted when the packets arrive, one look at the sockets per batch."""
    counts = ProbeCounts(job, Window(job.window_ns), schedule_from_dict(job.schedule))
    for packets in batches:
        receivers = np.array([p.destination if p.at is None else p.at for p in packets])
        counts.add(MemoryBuffer(packets), receivers, CLOCK)
    return counts.result()


def test_nothing_received_counts_nothing():
    result = received()
    assert result.frames.sum() == result.bytes.sum() == result.misdelivered == result.damaged == 0
    assert np.all(result.hops_min == 255)
    assert np.all(result.hops_max == 0)


def test_packets_are_counted_by_pair():
    result = received([Packet(0, 1), Packet(1, 0), Packet(0, 1, 1), Packet(2, 1)], [Packet(0, 2, 2)])
    assert result.frames.tolist() == [[0, 2, 1], [1, 0, 0], [0, 1, 0]]


def test_latencies_add_up_by_pair_and_in_the_histogram():
    result = received([Packet(0, 1, took_ns=2 * MS), Packet(0, 1, 1, took_ns=5 * MS), Packet(1, 2)])
    assert result.latency_sum_ns[0, 1] == 7 * MS
    assert result.latency_sum_ns[1, 2] == 2 * MS
    assert result.latency.count == 3
    assert result.latency.mean_ms() == 3.0


def test_hops_are_what_is_missing_of_the_time_to_live():
    result = received([Packet(0, 1, 0, hops=2), Packet(0, 1, 1, hops=4), Packet(2, 0, hops=0)])
    assert np.flatnonzero(result.hops).tolist() == [0, 2, 4]
    assert (result.hops_min[0, 1], result.hops_max[0, 1]) == (2, 4)
    assert (result.hops_min[2, 0], result.hops_max[2, 0]) == (0, 0)


def test_a_log_has_a_record_of_every_packet_in_the_order_of_arrival():
    batches = [Packet(0, 1, sequence=5, flow=2), Packet(2, 1, hops=3)], [Packet(1, 2, sent_ns=7, took_ns=4)]
    assert len(received(*batches).log) == 0, "unless a log was asked for"
    log = received(*batches, job=replace(JOB, keep_log=True)).log
    pairs = list(zip(log["source"].tolist(), log["destination"].tolist(), strict=True))
    assert pairs == [(0, 1), (2, 1), (1, 2)]
    assert (log["sequence"][0], log["flow"][0], log["hops"][1]) == (5, 2, 3)
    assert (log["sent_ns"][2], log["arrived_ns"][2]) == (7, 11)


# ---- the measured window ----


@pytest.mark.parametrize(
    ("sent_ns", "inside"),
    [(WINDOW[0] - 1, 0), (WINDOW[0], 1), (WINDOW[1] - 1, 1), (WINDOW[1], 0)],
)
def test_packets_count_if_they_were_sent_in_the_window(sent_ns, inside):
    result = received([Packet(sent_ns=sent_ns)])
    assert result.frames.sum() == result.latency.count == result.hops.sum() == inside
    assert result.hops_max[0, 1] == 1, "extremes are of all packets"
    assert result.last_ns == inside * (sent_ns + 2 * MS)


@pytest.mark.parametrize(
    ("arrival_ns", "counted"),
    [(WINDOW[0] - 1, 0), (WINDOW[0], 120), (WINDOW[1] - 1, 120), (WINDOW[1], 0)],
)
def test_window_bytes_count_if_they_arrived_in_the_window(arrival_ns, counted):
    result = received([Packet(sent_ns=arrival_ns - MS, took_ns=MS)])
    assert result.window_bytes.tolist() == [0, counted, 0]


def test_bytes_are_counted_by_time_of_arrival_with_their_full_length():
    times = (0, 1, 0, 0), (0, 1, 1, 49), (1, 2, 0, 390)
    result = received([Packet(*packet, sent_ns=ms * MS) for *packet, ms in times])
    assert result.bytes[0].tolist() == [0, 120, 0]
    assert result.bytes[1].tolist() == [0, 120, 0]
    assert result.bytes[7].tolist() == [0, 0, 120]
    assert result.bytes.sum() == 360


def test_arrivals_outside_the_series_go_into_its_ends():
    result = received([Packet(sent_ns=0, took_ns=-10 * MS), Packet(sequence=1, sent_ns=10_000 * MS)])
    assert (result.bytes[0, 1], result.bytes[-1, 1], result.bytes.sum()) == (120, 120, 240)


def counts_with_a_late_window(packets: list[Packet]):
    """Counts whose window becomes known only after these packets."""
    window = Window(None)
    counts = ProbeCounts(replace(JOB, window_ns=None), window, schedule_from_dict(JOB.schedule))
    receivers = np.array([packet.destination for packet in packets])
    counts.add(MemoryBuffer(packets), receivers, CLOCK)
    window.set(*WINDOW)
    return counts


ACROSS = [Packet(sequence=n, sent_ns=(60 + 20 * n) * MS, hops=1 + n % 2) for n in range(5)]  # 60 to 140 ms


def test_packets_count_that_arrived_before_their_collector_knew_of_the_window():
    late, in_time = counts_with_a_late_window(ACROSS).result(), received(ACROSS)
    assert late.frames.sum() == in_time.frames.sum() == 3
    assert late.hops.tolist() == in_time.hops.tolist()
    assert late.window_bytes.tolist() == in_time.window_bytes.tolist() == [0, 360, 0]
    assert late.run_frames[0, 1] == late.run_frames.sum() == 5
    assert late.latency.count == 3
    assert late.bytes.tolist() == in_time.bytes.tolist()


def test_packets_from_before_and_after_a_late_window_became_known_add_up():
    counts = counts_with_a_late_window(ACROSS)
    further = [Packet(sequence=n, sent_ns=(160 + n) * MS) for n in (6, 7, 5)]  # the last is late
    counts.add(MemoryBuffer(further), np.array([1, 1, 1]), CLOCK)
    for result in (counts.result(), counts.result()):  # a checkpoint does not count them again
        assert result.frames.sum() == 6
        assert result.out_of_order.sum() == 1


def test_packets_count_that_were_sent_before_their_sender_knew_of_the_window():
    window = Window(None)
    counter = SentCounter(CounterSettings(3, 4, window, 50 * MS))
    zeros, sent_ns = np.zeros(5, np.int64), np.array([packet.sent_ns for packet in ACROSS])
    counter.add(zeros, zeros + 1, sent_ns, sent_ns - MS, 120)
    window.set(*WINDOW)
    result = counter.result(1.0)
    assert result.frames.sum() == result.lag.count == 3
    assert result.run_frames[0, 1] == result.run_frames.sum() == 5
    assert result.bytes.sum() == 600


def lag_of(sent_ns: list[int], settling_ns: int, late_ns: int = 3 * MS) -> LogHistogram:
    counter = SentCounter(CounterSettings(3, 4, Window(WINDOW), 50 * MS, settling_ns=settling_ns))
    zeros, times_ns = np.zeros(len(sent_ns), np.int64), np.array(sent_ns)
    counter.add(zeros, zeros + 1, times_ns, times_ns - late_ns, 120)
    return counter.result(1.0).lag


def test_packets_that_leave_late_shortly_before_the_window_arrive_in_it_and_are_judged():
    assert lag_of([99 * MS, 150 * MS], 0).count == 1
    assert lag_of([99 * MS, 150 * MS], 2 * MS).count == 2
    assert lag_of([90 * MS, 150 * MS, 200 * MS], 2 * MS).count == 1


def test_packets_before_a_window_without_packets_are_not_taken_for_its_own():
    assert lag_of([99 * MS], 2 * MS).count == 0


def test_a_window_whose_packets_are_no_longer_held_is_an_error_and_no_loss(monkeypatch):
    monkeypatch.setattr(window_module, "MAX_PENDING_PACKETS", 4)
    counts = counts_with_a_late_window(ACROSS)
    assert counts.result().frames.sum() == 3
    window = Window(None)
    counts = ProbeCounts(replace(JOB, window_ns=None), window, schedule_from_dict(JOB.schedule))
    for packet in [*ACROSS, *(replace(packet, sequence=5 + packet.sequence) for packet in ACROSS)]:
        counts.add(MemoryBuffer([packet]), np.array([1]), CLOCK)
    window.set(139 * MS, 200 * MS)  # only the last packets of both rounds are in it
    with pytest.raises(LateWindowError, match="measurement window"):
        counts.result()


# ---- reordering ----


@pytest.mark.parametrize(
    ("sequences", "late"),
    [
        ([0, 1, 2, 3], 0),
        ([0, 2, 5, 9], 0),
        ([0, 2, 1, 3], 1),
        ([3, 0, 1, 2], 3),
        ([3, 2, 1, 0], 3),
        ([0, 5, 1, 6, 2], 2),
    ],
)
@pytest.mark.parametrize("split", [False, True], ids=["at once", "one by one"])
def test_a_packet_after_a_later_one_of_its_flow_is_out_of_order(sequences, late, split):
    packets = [Packet(sequence=n) for n in sequences]
    result = received(*[[p] for p in packets]) if split else received(packets)
    assert result.out_of_order.tolist() == [[0, late, 0], [0, 0, 0], [0, 0, 0]]


def test_order_is_judged_flow_by_flow():
    mixed = [Packet(0, 1, 9), Packet(0, 2, 3), Packet(1, 2, 0), Packet(0, 1, 4, flow=1), Packet(0, 2, 6)]
    assert received(mixed).out_of_order.sum() == 0
    result = received(mixed, [Packet(0, 1, 8), Packet(0, 1, 5, flow=1), Packet(0, 2, 2)])
    assert result.out_of_order.tolist() == [[0, 1, 1], [0, 0, 0], [0, 0, 0]]


def test_the_late_packet_of_a_mixed_batch_is_the_right_one():
    result = received([Packet(0, 1, 5), Packet(1, 2, 0), Packet(0, 1, 4)])
    assert result.out_of_order.tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]


def test_a_late_packet_from_before_the_window_is_not_counted_but_overtaking_ones_are_remembered():
    early = Packet(sequence=3, sent_ns=WINDOW[0] - 1)
    result = received([Packet(sequence=5)], [early, Packet(sequence=4)])
    assert result.out_of_order.sum() == 1


# ---- what should not be ----


def test_misdelivered_packets_are_told_apart():
    result = received([Packet(0, 1, at=2), Packet(0, 1, 1)])
    assert (result.misdelivered, result.frames.sum(), result.damaged) == (1, 1, 0)
    assert result.bytes.sum() == 120


def test_damaged_packets_and_those_of_strangers_are_told_apart():
    result = received([Packet(damaged=True), Packet(source_ip=STRANGER.ip, made_up=True), Packet(sequence=1)])
    assert (result.damaged, result.misdelivered, result.frames.sum()) == (2, 0, 1)


def test_a_damaged_packet_does_not_disturb_the_order():
    result = received([Packet(sequence=1000, damaged=True), Packet(sequence=1)])
    assert result.out_of_order.sum() == 0


def test_frames_of_an_earlier_run_are_passed_over():
    result = received([Packet(sequence=30, sent_ns=-1), Packet(sequence=1)])
    assert (result.damaged, result.out_of_order.sum(), result.frames.sum()) == (0, 0, 1)


HOSTILE = {
    "number that was lost": Packet(sequence=1, made_up=True),
    "number that spoils the batch": Packet(sequence=(1 << 40) + 0xFFFFFFF0, made_up=True),
    "negative number": Packet(sequence=-1, made_up=True),
    "port above the flows": Packet(flow=4, made_up=True),
    "sent at the end of time": Packet(sent_ns=(1 << 63) - CLOCK.epoch_ns, took_ns=-(1 << 62), made_up=True),
    "sent at another time": Packet(sequence=3, sent_ns=149 * MS, made_up=True),
    "TTL above the first": Packet(sequence=3, hops=-1),
    "TTL of 0": Packet(sequence=3, hops=64),
    "shorter than its header": Packet(sequence=3, length=62),
    "longer than any of the run": Packet(sequence=3, length=65_000),
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_a_frame_that_no_sender_can_have_sent_changes_no_other_count(hostile):
    right = [Packet(0, 1, 2), Packet(0, 2, 3), Packet(1, 2, 2), Packet(2, 1, 2)]
    later = [Packet(0, 1, 4), Packet(0, 2, 5), Packet(1, 2, 3), Packet(2, 1, 3)]
    alone, among = received(right, later), received([hostile, *right], later)
    assert (alone.damaged, among.damaged) == (0, 1)
    for name in ("frames", "latency_sum_ns", "out_of_order", "hops", "bytes", "window_bytes", "hops_max"):
        assert np.array_equal(getattr(alone, name), getattr(among, name)), name


def test_arrivals_that_are_made_up_of_lost_packets_hide_no_loss():
    """Of the numbers of a source that sends to one host, that host knows which were lost, and when about."""
    arrived = [Packet(sequence=number, sent_ns=(110 + number) * MS) for number in range(0, 40, 2)]
    lost = [replace(packet, sequence=packet.sequence + 1, made_up=True) for packet in arrived]
    result = received(arrived, lost)
    assert (result.frames.sum(), result.damaged) == (20, 20)


@pytest.mark.parametrize("split", [False, True], ids=["at once", "one by one"])
def test_a_copy_of_a_packet_counts_as_damaged_and_changes_nothing_else(split):
    first = [Packet(0, 1, 0, sent_ns=90 * MS), Packet(0, 2, 1), Packet(1, 2, 0), Packet(0, 1, 2)]
    copies = [replace(packet, took_ns=20 * MS) for packet in first]
    alone, among = received(first), received(first, copies) if split else received([*first, *copies])
    assert (alone.damaged, among.damaged, among.misdelivered) == (0, 4, 0)
    for name in ("frames", "run_frames", "latency_sum_ns", "out_of_order", "bytes", "window_bytes"):
        assert np.array_equal(getattr(alone, name), getattr(among, name)), name


def test_a_packet_that_reached_another_host_first_is_no_copy_at_its_own():
    result = received([Packet(0, 1, at=2), Packet(0, 1)])
    assert (result.misdelivered, result.damaged, result.frames.sum()) == (1, 0, 1)


def test_a_number_too_old_to_be_remembered_is_taken_for_a_copy():
    arrivals = DuplicateDetector(MAX_REMEMBERED // 4)  # four numbers of each
    numbers = [5, 9, 3, 5, 8, 4]
    zero = np.zeros(1, np.int64)
    repeated = [bool(arrivals.repeated(zero, zero + number)[0]) for number in numbers]
    assert repeated == [False, False, False, True, False, True]


# ---- the job and its results on their way between processes ----


def test_job_survives_its_way_to_another_process():
    again = job_from_dict(json.loads(json.dumps(JOB.to_dict())))
    assert again == JOB


def test_received_survives_the_disk(tmp_path):
    result = received([Packet(0, 1), Packet(1, 0, at=2)])
    store(result, tmp_path / "received.npz")
    again = load_received(tmp_path / "received.npz")
    for name, value in vars(result).items():
        if name == "latency":
            assert again.latency.counts.tolist() == value.counts.tolist()
            assert again.latency.total_ns == value.total_ns
        else:
            assert np.array_equal(getattr(again, name), value)


def test_sent_survives_the_disk(tmp_path):
    lag = LogHistogram()
    lag.add(np.array([1000, 2000]))
    pairs = np.eye(2, dtype=np.int64)
    store(Sent(pairs, 2 * pairs, np.ones((3, 2), np.int64), 7, lag, 1.25), tmp_path / "sent.npz")
    again = load_sent(tmp_path / "sent.npz")
    assert (again.refused, again.seconds, again.lag.mean_ms()) == (7, 1.25, 0.0015)
    assert again.frames.tolist() == [[1, 0], [0, 1]]
    assert again.run_frames.tolist() == [[2, 0], [0, 2]]
    assert again.bytes.shape == (3, 2)


# ---- the end of a collection ----


class StandingStill:
    """Stands in for the clock and for the sockets of a collector whose process stalls for a while.

    Packets reach the sockets while it sleeps for the first time, for a second, and its job is over when it
    wakes up. Further ones stalled with it, and arrive half a second later.
    """

    def __init__(self, packets: list[Packet], further: list[Packet]) -> None:
        self.now_ns = CLOCK.monotonic_ns
        self._waiting: list[Packet] = []
        self._packets, self._further = packets, further
        self._further_at_ns = 1 << 62
        self.buffer, self.owners = None, None

    def monotonic_ns(self) -> int:
        return self.now_ns

    def time_ns(self) -> int:
        return self.now_ns - CLOCK.monotonic_ns + CLOCK.epoch_ns

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)
        if self._packets:
            self._waiting, self._packets = self._packets, []
            self.now_ns += 1000 * MS
            self._further_at_ns = self.now_ns + 500 * MS
        elif self.now_ns >= self._further_at_ns:
            self._waiting, self._further, self._further_at_ns = self._further, [], 1 << 62

    def receive(self) -> int:
        received, self._waiting = self._waiting, []
        if received:
            self.buffer = MemoryBuffer(received)
            self.buffer.reset = lambda _count: None
            self.owners = np.array([packet.destination for packet in received])
        return len(received)

    def close(self) -> None:
        pass


@pytest.mark.parametrize("further", [0, 4])
def test_packets_that_wait_when_a_collector_comes_late_to_its_end_are_counted(monkeypatch, further):
    packets = [Packet(sequence=number) for number in range(3 + further)]
    machine = StandingStill(packets[:3], packets[3:])
    monkeypatch.setattr(collector, "time", machine)
    monkeypatch.setattr(collector, "Receivers", lambda *_places: machine)
    late = collector.Collector(JOB, Window(JOB.window_ns), CountReporter(lambda _line: None))
    assert late.run(CLOCK, lambda: False).frames.sum() == len(packets)
    assert machine.now_ns < CLOCK.monotonic_ns + 3000 * MS

"""Frames of a host's making among those of a run, for the collector of probes and a collective's worker."""

from __future__ import annotations

import os
import random
import resource
import struct
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from unittest import mock

import numpy as np
from support.fixtures.alarms import TooLong, no_longer_than

from topology.addressing import Host
from traffic.engine import collective_worker, sockets
from traffic.engine.collector import ProbeCounts
from traffic.engine.jobs import CollectiveJob, HostSocket, TrafficJob
from traffic.engine.telemetry import CountReporter
from traffic.metrics.measurements import Clock, CollectiveOutcome, Received
from traffic.metrics.window import Window
from traffic.wire.layout import HEADER, HEADER_BYTES, offset_of
from traffic.wire.probe_codec import FrameBuffer
from traffic.wire.probe_frame import build_probe, build_segment_head
from traffic.wire.segment_codec import SEGMENT_BYTES
from traffic.wire.tags import Tagger, new_key
from traffic.workload.patterns import Pattern
from traffic.workload.schedule import PatternSchedule, schedule_from_dict

COUNT = 20_000
LONGEST_S = 30.0  # of a round
MAX_GROWTH_KIB = 64 << 10
_MADE_UP = 50  # frames of a round
_RUN, _FLOWS, _MS = 7, 4, 1_000_000
_HOSTS = tuple(Host(router, 0, router) for router in range(4))
_SOCKETS = tuple(HostSocket(host.name, host.ip, f"{host.name}-eth0", os.getpid(), "", 1) for host in _HOSTS)
_CLOCK = Clock(monotonic_ns=0, epoch_ns=1_700_000_000 * 10**9)
_ALL_ONES = (1 << 64) - 1
_ODD = (0, 1, 2**31, 2**32 - 2, 2**32 - 1, 2**32, 2**40 + 0xFFFFFFF0, 2**63 - 1, 2**63, _ALL_ONES)


class Arrived:
    """Stands in for sockets.ReceiveBuffer; as there, a slot keeps what a shorter frame leaves of it."""

    def __init__(self, slots: int, frame_bytes: int) -> None:
        self.frames = np.zeros((slots, -(-frame_bytes // 32) * 32), np.uint8)
        self._lengths, self._arrived_ns = np.zeros(slots, np.int64), np.zeros(slots, np.int64)

    def put(self, slot: int, frame: bytes, arrived_ns: int) -> None:
        """Has a frame arrive in a slot."""
        kept = frame[: self.frames.shape[1]]
        self.frames[slot, : len(kept)] = np.frombuffer(kept, np.uint8)
        self._lengths[slot], self._arrived_ns[slot] = len(frame), arrived_ns

    def lengths(self, count: int) -> np.ndarray:
        return self._lengths[:count]

    def arrivals_ns(self, count: int) -> np.ndarray:
        return self._arrived_ns[:count]

    def reset(self, count: int) -> None:
        pass


def attack(count: int, rng: random.Random) -> Iterator[str]:
    """Yields a line for each round in which a made-up frame stopped a process or changed others' counts."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(0, count, _MADE_UP):
        one, seed = (_probe_round, _segment_round)[number // _MADE_UP % 2], rng.getrandbits(32)
        try:
            with no_longer_than(LONGEST_S):
                problem = one(min(_MADE_UP, count - number), random.Random(seed))
        except (Exception, TooLong) as error:  # whatever it is, it would end a process of root's
            problem = f"{type(error).__name__}: {error}"
        if problem:
            yield f"{one.__name__} {seed}: {problem}"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if grown > MAX_GROWTH_KIB:
        yield f"memory grew by {grown} KiB"


# ---- probes ----

_JOB = TrafficJob(
    hosts=_SOCKETS,
    schedule=PatternSchedule(Pattern("uniform", len(_HOSTS)), 2_000.0, 400 * _MS, _FLOWS, 1).to_dict(),
    template=build_probe(_HOSTS[0], _HOSTS[1], frame_bytes=120, run=_RUN),
    run=_RUN,
    flows=_FLOWS,
    window_ns=(0, 400 * _MS),
    quiet_ns=0,
    interval_ns=50 * _MS,
)


def _probe_round(made_up: int, rng: random.Random) -> str:
    """Returns what made-up frames and copies change of the counts."""
    right = sorted(_probes(60, rng), key=lambda frame: frame[2])
    false = [_false_probe(*rng.choice(right), rng) for _ in range(made_up)]
    keep_log = rng.random() < 0.3
    mixed = sorted((*right, *false), key=lambda frame: frame[2])
    alone, among = (_counted(frames, keep_log=keep_log) for frames in (right, mixed))
    for name in ("frames", "latency_sum_ns", "out_of_order", "hops_min", "hops_max", "bytes", "log"):
        if not np.array_equal(getattr(alone, name), getattr(among, name)):
            return f"{name} differ"
    return ""


def _probes(count: int, rng: random.Random) -> list[tuple[bytes, int, int]]:
    """Returns probes as they are sent: the frame, the index of its receiver, the time of its arrival."""
    events = next(schedule_from_dict(_JOB.schedule).chunks())
    ips = np.array([host.ip for host in _HOSTS], np.uint32)
    buffer = FrameBuffer(_JOB.template, count, Tagger(_JOB.key))
    few = slice(count)
    ends = ips[events.source[few]], ips[events.destination[few]]
    buffer.fill(*ends, events.flow[few], events.sequence[few])
    frames = []
    for index, (time_ns, destination) in enumerate(
        zip(events.time_ns[few].tolist(), events.destination[few].tolist(), strict=True)
    ):
        sent_ns = _CLOCK.epoch_ns + time_ns
        buffer.stamp(index, index + 1, sent_ns)
        frames.append((bytes(buffer.views[index]), destination, sent_ns + rng.randrange(_MS, 20 * _MS)))
    return frames


# The fields of a probe that are checked, but for its length and TTL.
_CHECKED = ("ip_src", "ip_dst", "source_port", "tag", "magic", *("sequence", "sent_ns"))
_CHECKED += ("sequence_check", "sent_check")


def _false_probe(frame: bytes, receiver: int, arrived_ns: int, rng: random.Random) -> tuple[bytes, int, int]:
    """Returns a frame that the sender did not send, or a copy; its receiver; the time of its arrival."""
    late_ns = _CLOCK.epoch_ns + rng.randrange(400 * _MS)
    match rng.randrange(9):
        case 0:
            return frame, receiver, arrived_ns + rng.randrange(1, 400 * _MS)
        case 1:  # a probe that was lost, as far as a host can tell
            return _signed_by_a_host(frame, receiver, rng), receiver, arrived_ns
        case 2:
            changed = frame[: rng.randrange(62, 120)] if rng.random() < 0.5 else frame + bytes(60_000)
        case 3:
            kind, at = HEADER.fields[rng.choice(_CHECKED)][:2]
            at += rng.randrange(kind.itemsize)
            changed = frame[:at] + bytes([frame[at] ^ 1 << rng.randrange(8)]) + frame[at + 1 :]
        case 4:
            changed = _with(frame, "ttl", "!B", rng.choice((0, 65, 255)))
        case _:
            changed = _with_another_value(frame, rng)
    return changed, rng.randrange(len(_HOSTS)), late_ns


def _with(frame: bytes, field: str, code: str, *values: int) -> bytes:
    at = offset_of(field)
    return frame[:at] + struct.pack(code, *values) + frame[at + struct.calcsize(code) :]


def _with_another_value(frame: bytes, rng: random.Random) -> bytes:
    """Returns a frame with another value in one field, and with right checks but for its tag."""
    numbers = list(struct.unpack_from("!QQ", frame, offset_of("sequence")))
    match rng.randrange(4):
        case 0:
            return _with(frame, "ip_src", "!I", rng.choice((1, *(host.ip + 1 for host in _HOSTS))))
        case 1:
            return _with(frame, "source_port", "!H", rng.choice((0, 19_999, 20_004, 65_535)))
        case 2:
            numbers[0] = rng.choice((*_ODD[5:], rng.getrandbits(64), numbers[0] + rng.randrange(1, 1000)))
        case 3:
            numbers[1] = rng.choice((*_ODD, rng.getrandbits(64), numbers[1] + rng.randrange(1, 10**10)))
    return _with(frame, "sequence", "!QQQQ", *numbers, *(number ^ _ALL_ONES for number in numbers))


def _signed_by_a_host(frame: bytes, receiver: int, rng: random.Random) -> bytes:
    """Returns a probe of another number or time with a tag, but by a key that a host made."""
    sequence, sent_ns = struct.unpack_from("!QQ", frame, offset_of("sequence"))
    buffer, one = FrameBuffer(frame, 1, Tagger(new_key())), np.ones(1, np.int64)
    ends = (np.array([_HOSTS[index].ip], np.uint32) for index in (1, receiver))
    buffer.fill(*ends, one, one * (sequence + rng.randrange(3)))
    buffer.stamp(0, 1, sent_ns + rng.randrange(_MS))
    return bytes(buffer.views[0])


def _counted(frames: Sequence[tuple[bytes, int, int]], *, keep_log: bool) -> Received:
    job = replace(_JOB, keep_log=keep_log)
    counts = ProbeCounts(job, Window(job.window_ns), schedule_from_dict(job.schedule))
    buffer = Arrived(16, HEADER_BYTES)
    for first in range(0, len(frames), 16):
        batch = frames[first : first + 16]
        for slot, (frame, _, arrived_ns) in enumerate(batch):
            buffer.put(slot, frame, arrived_ns)
        counts.add(buffer, np.array([receiver for _, receiver, _ in batch]), _CLOCK)  # type: ignore[arg-type]
    return counts.result()


# ---- segments of a collective ----

_FRAME_BYTES = 400
_HEAD = struct.Struct("!IIIHBBQ")
_HEAD_AT = SEGMENT_BYTES - _HEAD.size
_KIND_AT = SEGMENT_BYTES - 10


class Air:
    """Carries the frames of a collective's ranks, loses some, and adds those that somebody else makes up."""

    def __init__(
        self, rng: random.Random, made_up: int, *, loss: float = 0.0, lies: object = None, kind: int = 0
    ) -> None:
        self.rng, self.made_up, self.loss = rng, made_up, loss
        self.kind = kind  # of the frames about which lies are told; 0 for all
        self.lies = lies or _false_segment
        self.seen: deque[bytes] = deque(maxlen=200)
        self._waiting: deque[bytes] = deque()

    def open_all(self, places: Sequence[tuple[int, str]], _opener: object) -> list[Air]:
        """Stands in for sockets.open_all."""
        return [self] * len(list(places))

    def receivers(
        self, _places: object, _run: int, slots: int, *, frame_bytes: int = HEADER_BYTES, **_other: object
    ) -> Air:
        """Stands in for Receivers."""
        self.buffer, self.owners = Arrived(slots, frame_bytes), np.zeros(slots, np.int64)
        self._slots = slots
        return self

    def send(self, frame: memoryview) -> None:
        self.seen.append(bytes(frame))
        if self.rng.random() >= self.loss:
            self._waiting.append(bytes(frame))

    def receive(self) -> int:
        seen = [frame for frame in self.seen if self.kind in (0, frame[_KIND_AT])]
        while self.made_up > 0 and seen and self.rng.random() < 0.9:
            self.made_up -= 1
            self._waiting.append(self.lies(self.rng.choice(seen), self.rng))
        count = min(len(self._waiting), self._slots)
        for slot in range(count):
            frame = self._waiting.popleft()
            (ip,) = struct.unpack_from("!I", frame, offset_of("ip_dst"))
            self.owners[slot] = next((n for n, host in enumerate(_HOSTS) if host.ip == ip), 0)
            self.buffer.put(slot, frame, time.time_ns())
        return count

    def close(self) -> None:
        pass


def run_collective(air: Air, iterations: int = 3) -> CollectiveOutcome:
    """Runs a collective in memory; it is stopped after half of the longest time of a round."""
    job = CollectiveJob(
        hosts=_SOCKETS,
        ranks=tuple(range(len(_HOSTS))),
        name="allreduce",
        algorithm="ring",
        message_bytes=(8_000,),
        iterations=iterations,
        warmup_iterations=0,
        slices=1,
        template=build_segment_head(_HOSTS[0], _HOSTS[1], _RUN),
        frame_bytes=_FRAME_BYTES,
        run=_RUN,
        flows=_FLOWS,
        seed=1,
        max_in_flight=16,
        acknowledge_after_ns=_MS,
        silence_ns=10**10,
        interval_ns=250 * _MS,
    )
    ends_s = time.monotonic() + LONGEST_S / 2
    with (
        mock.patch.object(sockets, "open_all", air.open_all),
        mock.patch.object(sockets, "run_first"),
        mock.patch.object(sockets, "sleep_precisely"),
        mock.patch.object(collective_worker, "Receivers", air.receivers),
    ):
        worker = collective_worker.CollectiveWorker(job, CountReporter(lambda _line: None))
        return worker.run(Clock(time.monotonic_ns(), time.time_ns()), lambda: time.monotonic() > ends_s)


def _segment_round(made_up: int, rng: random.Random) -> str:
    """Returns what made-up frames change of a collective's end."""
    air = Air(rng, made_up, loss=rng.choice((0.0, 0.0, 0.02)))
    outcome = run_collective(air, iterations=2)
    if outcome.failed or len(outcome.iterations) < 2:
        return f"it did not end: {outcome.failed}"
    if outcome.iterations["wrong_ranks"].any():
        return "a rank had a wrong result"
    if (outcome.received.frames > outcome.sent.frames).any():
        return "more arrived than was sent"
    if outcome.acknowledgements_received.sum() > outcome.acknowledgements_sent.sum():
        return "more acknowledgements arrived than were sent"
    return ""


def _false_segment(frame: bytes, rng: random.Random) -> bytes:
    """Returns a frame that no rank has sent so."""
    changed = bytearray(frame)
    number, message, segment, length, kind, zero, sent_ns = _HEAD.unpack_from(changed, _HEAD_AT)
    match rng.randrange(9):
        case 0:
            number = rng.choice((*_ODD, number + rng.randrange(300), max(0, number - rng.randrange(300))))
        case 1:
            message = rng.choice((*_ODD, rng.getrandbits(32), message + 1, max(0, message - 1)))
            number = rng.choice((number, rng.randrange(number + 1)))
        case 2:
            segment = rng.choice((*_ODD, segment + rng.randrange(30)))
        case 3:
            length = rng.choice((0, 1, 16, length + 1, rng.getrandbits(16), 65_535))
        case 4:
            kind = rng.choice((0, 1, 2, 3, 255))
        case 5:
            sent_ns = rng.choice((*_ODD, rng.getrandbits(64)))
        case 6:  # all that was sent has arrived, says a third host
            kind, length = 2, 16
            changed[SEGMENT_BYTES:] = b"\xff" * 16
        case 7:
            changed[rng.randrange(offset_of("ip_src") - 4, len(changed))] ^= 1 << rng.randrange(8)
        case 8:
            return bytes(changed[: rng.randrange(62, len(changed))]) + bytes(rng.choice((0, 0, 9_000)))
    values = number & 0xFFFFFFFF, message & 0xFFFFFFFF, segment & 0xFFFFFFFF, length & 0xFFFF
    _HEAD.pack_into(changed, _HEAD_AT, *values, kind, zero, sent_ns & _ALL_ONES)
    return bytes(changed)

"""Worker that runs a collective over the hosts' packet sockets: all ranks in one process and event loop.

Ranks exchange data only in packets; they share nothing but the event loop. The segments of a message are
acknowledged and, if lost, retransmitted (`traffic.engine.transport`).
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

import numpy as np
import numpy.typing as npt

from topology.addressing import INITIAL_TTL
from traffic.engine import sockets
from traffic.engine.jobs import CollectiveJob
from traffic.engine.receivers import Receivers
from traffic.engine.telemetry import CountReporter
from traffic.engine.transport import Incoming, Outgoing, rank_not_reached
from traffic.metrics.counters import CounterSettings, ReceivedCounter, ReceivedPackets, SentCounter
from traffic.metrics.measurements import ITERATION, Clock, CollectiveOutcome
from traffic.metrics.window import Window
from traffic.wire.layout import SEGMENT_MAGIC, SOURCE_PORT_BASE
from traffic.wire.segment_codec import (
    ACKNOWLEDGEMENT,
    ACKNOWLEDGEMENT_BYTES,
    DATA,
    HEAD,
    SEGMENT_BYTES,
    Head,
    Heads,
    Writer,
    genuine,
)
from traffic.wire.tags import Tagger
from traffic.workload.collectives.algorithms import sliced_programs
from traffic.workload.collectives.execution import Iteration, MessageTable
from traffic.workload.collectives.operations import Collective, Elements
from traffic.workload.collectives.registry import COLLECTIVES

_SLOTS = 512
# Sockets are polled at intervals, because waking up for every packet costs more than processing it.
_POLL_INTERVAL_S = 0.0004
# Number of segments per acknowledgement; fewer if a segment has waited too long for one.
ACKNOWLEDGE_EVERY = 8
_CHECK_EVERY_NS = 10_000_000
_MESSAGE_NUMBERS = 1 << 32  # message numbers on the wire are modulo this
_FOREVER = 1 << 62


class _EndedEarly(Exception):
    """Ends the run early. The message names the failed rank; it is empty if the parent requested the end."""


class CollectiveWorker:
    """Runs all ranks of one `CollectiveJob`; its sockets receive frames as soon as it is created."""

    def __init__(self, job: CollectiveJob, reporter: CountReporter) -> None:
        self._job, self._reporter = job, reporter
        self._collective: Collective = COLLECTIVES[job.name]
        self._segment_bytes = job.frame_bytes - SEGMENT_BYTES
        self._tagger = Tagger(job.key)
        self._writer = Writer(Heads(job.template), job.frame_bytes, self._tagger)
        self._random = Random(job.seed)  # noqa: S311  # random traffic, not secrets
        hosts = [job.hosts[index] for index in job.ranks]
        self._ips = [host.ip for host in hosts]
        self._rank_of = {ip: rank for rank, ip in enumerate(self._ips)}
        # The descriptor of a process becomes readable when the process ends.
        self._rank_of_process = {os.pidfd_open(host.namespace_pid): rank for rank, host in enumerate(hosts)}
        self._deaths = select.poll()
        for descriptor in self._rank_of_process:
            self._deaths.register(descriptor, select.POLLIN)
        self._senders = sockets.open_all((host.sending_place for host in hosts), sockets.open_sender)
        self._receivers = Receivers(
            (host.arrival_place for host in hosts),
            job.run,
            _SLOTS,
            magic=SEGMENT_MAGIC,
            frame_bytes=job.frame_bytes,
        )
        self._frames = self._receivers.buffer.frames.data.cast("B")
        self._outgoing: dict[tuple[int, int], Outgoing] = {}
        self._incoming: dict[tuple[int, int], Incoming] = {}
        self._unacknowledged_since: dict[tuple[int, int], int] = {}
        self._host_of = np.array(job.ranks)
        counted = CounterSettings(len(job.hosts), job.flows, Window((0, _FOREVER)), job.interval_ns)
        self._sent, self._received = SentCounter(counted), ReceivedCounter(counted)
        # Packets sent and received since the last call of `_count_sent` and `_count_received`.
        self._uncounted_sent: list[tuple[int, int, int, int]] = []
        self._uncounted_received: list[tuple[int, ...]] = []
        self._acknowledgements_sent = np.zeros(len(job.hosts), np.int64)
        self._acknowledgements_received = np.zeros(len(job.hosts), np.int64)
        # Progress. An iteration's weight is its message size in bytes: the weight of all iterations, of the
        # completed ones, and of the current one.
        self._total = (job.iterations + job.warmup_iterations) * sum(job.message_bytes)
        self._completed = self._weight = 0
        self._base = 0  # wire number of the current iteration's first message
        self._checked_ns = self._gap_ns = 0
        self._records: list[tuple[int, ...]] = []
        self._finished: list[npt.NDArray[np.int64]] = []

    def run(
        self,
        clock: Clock,
        stopped: Callable[[], bool],
        checkpoint: Callable[[Callable[[], CollectiveOutcome]], None] = lambda _measured: None,
    ) -> CollectiveOutcome:
        """Runs all sizes and iterations; ends early if `stopped` returns True or a rank dies.

        Args:
            clock: the instant of the start.
            stopped: returns whether to end early.
            checkpoint: called between iterations with a function that returns the measurements so far.
        """
        sockets.sleep_precisely()
        sockets.run_first()
        self._clock, self._stopped = clock, stopped
        self._to_epoch_ns = clock.epoch_ns - clock.monotonic_ns
        failed = ""
        time.sleep(max(0.0, (clock.monotonic_ns - time.monotonic_ns()) / 1e9))
        try:
            for record, finished_ns in self._iterations():
                self._records.append(record)
                self._finished.append(finished_ns)
                checkpoint(self._outcome)
        except _EndedEarly as reason:
            failed = str(reason)
        for sender in self._senders:
            sender.close()
        self._receivers.close()
        return replace(self._outcome(), failed=failed)

    def _outcome(self) -> CollectiveOutcome:
        """Returns the outcome of the iterations so far."""
        seconds = (time.monotonic_ns() - self._clock.monotonic_ns) / 1e9
        resent = sum(connection.resent for connection in self._outgoing.values())
        self._count_sent()
        self._count_received()
        shape = (len(self._finished), len(self._ips))
        return CollectiveOutcome(
            self._sent.result(seconds),
            self._received.result(),
            self._host_of,
            np.array(self._records, ITERATION),
            np.array(self._finished, np.int64).reshape(shape),
            resent,
            self._acknowledgements_sent,
            self._acknowledgements_received,
            failed="",
        )

    def _iterations(self) -> Iterator[tuple[tuple[int, ...], npt.NDArray[np.int64]]]:
        job, ranks = self._job, len(self._ips)
        for message_bytes in job.message_bytes:
            elements = self._collective.vector_elements(message_bytes)
            algorithm = self._collective.algorithms[job.algorithm]
            messages = MessageTable(
                sliced_programs(algorithm, ranks, elements, job.slices), self._segment_bytes
            )
            for iteration in range(-job.warmup_iterations, job.iterations):
                vectors = self._collective.initial_vectors(ranks, elements, self._random.getrandbits(63))
                expected = self._collective.expected_results(vectors)
                started_ns, self._weight = time.monotonic_ns(), message_bytes
                finished_ns = self._iterate(messages, vectors) - started_ns
                self._completed += message_bytes
                results = map(self._collective.result_part, vectors)
                wrong = sum(not np.array_equal(a, b) for a, b in zip(results, expected, strict=True))
                start_ns = started_ns - self._clock.monotonic_ns
                completion_ns = int(finished_ns.max())
                yield (message_bytes, iteration, start_ns, completion_ns, wrong, self._gap_ns), finished_ns

    def _iterate(self, messages: MessageTable, vectors: list[Elements]) -> npt.NDArray[np.int64]:
        self._messages, self._iteration = messages, Iteration(messages, vectors)
        turn_ns, self._gap_ns = time.monotonic_ns(), 0
        self._iteration.start(turn_ns)
        # Waits for all acknowledgements, so that no packets of this iteration disturb the next one.
        while self._iteration.unfinished or not all(c.idle for c in self._outgoing.values()):
            count = self._receivers.receive()
            now_ns = time.monotonic_ns()
            self._gap_ns, turn_ns = max(self._gap_ns, now_ns - turn_ns), now_ns
            if count:
                self._process_frames(count, now_ns)
            self._queue_ready_messages()
            self._acknowledge(now_ns)
            if now_ns - self._checked_ns > _CHECK_EVERY_NS:
                self._checked_ns = now_ns
                self._check(now_ns)
            self._send()
            time.sleep(_POLL_INTERVAL_S)
        for connection in self._outgoing.values():
            connection.forget()
        self._base = (self._base + len(messages.messages)) % _MESSAGE_NUMBERS
        return self._iteration.finished_ns()

    def _check(self, now_ns: int) -> None:
        """Detects lost packets; raises _EndedEarly on request, or if a rank is dead or silent."""
        self._reporter.done = (self._completed + self._weight * self._iteration.done) / self._total
        self._count_sent()
        self._count_received()
        if self._stopped():
            raise _EndedEarly
        for descriptor, _ in self._deaths.poll(0):
            rank = self._rank_of_process[descriptor]
            raise _EndedEarly(f"rank {rank} ({self._name(rank)}) died")
        for (source, destination), connection in self._outgoing.items():
            connection.expire(now_ns)
            silent_ns = connection.silent_ns(now_ns)
            if silent_ns > self._job.silence_ns:
                raise _EndedEarly(self._silent_rank(source, destination, now_ns))

    def _silent_rank(self, source: int, destination: int, now_ns: int) -> str:
        """Returns the error message for two ranks without contact; it names the unreachable one."""
        heard_ns = {pair: connection.heard_ns for pair, connection in self._outgoing.items()}
        silent = [
            pair
            for pair, connection in self._outgoing.items()
            if connection.silent_ns(now_ns) > self._job.silence_ns // 2
        ]
        gone = rank_not_reached((source, destination), silent, heard_ns)
        other = source if gone == destination else destination
        return (
            f"rank {gone} ({self._name(gone)}) is unreachable: no packets between it and rank {other} "
            f"({self._name(other)}) for {self._job.silence_ns / 1e9:.1f} s"
        )

    def _name(self, rank: int) -> str:
        return self._job.hosts[self._job.ranks[rank]].name

    def _queue_ready_messages(self) -> None:
        """Queues the segments of messages that may be sent now, on the connections between their ranks."""
        for number in self._iteration.ready:
            message = self._messages.messages[number]
            pair = message.source, message.destination
            connection = self._outgoing.get(pair)
            if connection is None:
                job = self._job
                connection = self._outgoing[pair] = Outgoing(job.max_in_flight, job.acknowledge_after_ns)
            connection.waiting.extend((number, segment) for segment in range(message.segments))
        self._iteration.ready.clear()

    def _send(self) -> None:
        flows, segment_bytes = self._job.flows, self._segment_bytes
        for (source, destination), connection in self._outgoing.items():
            room = connection.room
            while room > 0 and connection.waiting:
                segment = connection.waiting.popleft()
                number, place = segment
                offset = place * segment_bytes
                payload = memoryview(self._iteration.outgoing[number])[offset : offset + segment_bytes]
                now_ns = time.monotonic_ns()
                transmission = connection.note_sent(segment, now_ns)
                frame = self._writer.write(
                    self._ips[source],
                    self._ips[destination],
                    SOURCE_PORT_BASE + int(self._random.random() * flows),
                    (transmission, (self._base + number) % _MESSAGE_NUMBERS, place, DATA),
                    now_ns + self._to_epoch_ns,
                    payload,
                )
                try:
                    self._senders[source].send(frame)
                except OSError as error:
                    connection.cancel_transmission(transmission)
                    self._sent.refused += 1
                    self._sent.unsent[self._host_of[source]] += sockets.interface_is_down(error)
                    break
                self._uncounted_sent.append((source, destination, now_ns, len(frame)))
                room -= 1

    def _acknowledge(self, now_ns: int) -> None:
        due = [
            pair
            for pair, since_ns in self._unacknowledged_since.items()
            if now_ns - since_ns > self._job.acknowledge_after_ns
            or self._incoming[pair].owed >= ACKNOWLEDGE_EVERY
        ]
        for source, destination in due:
            since_ns = self._unacknowledged_since.pop((source, destination))
            incoming = self._incoming[source, destination]
            highest, bits = incoming.acknowledgement()
            frame = self._writer.write(
                self._ips[destination],
                self._ips[source],
                SOURCE_PORT_BASE + int(self._random.random() * self._job.flows),
                (highest, incoming.answers, 0, ACKNOWLEDGEMENT),
                now_ns + self._to_epoch_ns,
                bits.to_bytes(ACKNOWLEDGEMENT_BYTES, "big"),
            )
            try:
                self._senders[destination].send(frame)
            except OSError as error:  # the next acknowledgement also covers these segments
                self._sent.unsent[self._host_of[destination]] += sockets.interface_is_down(error)
                self._unacknowledged_since[source, destination] = since_ns
                incoming.owed = ACKNOWLEDGE_EVERY  # the acknowledgement is due immediately
                continue
            incoming.answers += 1
            self._acknowledgements_sent[self._host_of[destination]] += 1

    def _process_frames(self, count: int, now_ns: int) -> None:
        """Processes received frames one by one, not in bulk, because few arrive at a time.

        Programs on hosts run as root and may forge frames: a frame without a valid tag (`traffic.wire.tags`),
        or a duplicate, counts as damaged.
        """
        buffer = self._receivers.buffer
        slot_bytes = buffer.frames.strides[0]
        arrivals_ns, lengths = buffer.arrivals_ns(count).tolist(), buffer.lengths(count).tolist()
        for slot, receiver in enumerate(self._receivers.owners[:count].tolist()):
            begin = slot * slot_bytes
            head = Head(*HEAD.unpack_from(self._frames, begin))
            frame = self._frames[begin : begin + lengths[slot]]
            if lengths[slot] != SEGMENT_BYTES + head.length or not 0 < head.ttl <= INITIAL_TTL:
                self._received.damaged += 1
            elif head.sent_ns < self._clock.epoch_ns:  # frame of an earlier run, with another key
                continue
            elif not genuine(frame, self._tagger) or head.destination_ip != self._ips[receiver]:
                self._received.damaged += 1
            else:
                sender, payload = self._rank_of[head.source_ip], frame[SEGMENT_BYTES:]
                if head.kind == ACKNOWLEDGEMENT and self._process_acknowledgement(
                    (receiver, sender), head, payload, now_ns
                ):
                    self._acknowledgements_received[self._host_of[receiver]] += 1
                elif head.kind == DATA and self._process_segment((sender, receiver), head, payload, now_ns):
                    self._uncounted_received.append((sender, receiver, arrivals_ns[slot], *head))
                else:
                    self._received.damaged += 1
        buffer.reset(count)

    def _process_segment(self, pair: tuple[int, int], head: Head, payload: memoryview, now_ns: int) -> bool:
        """Records a segment for acknowledgement and passes its data to the iteration.

        Returns:
            Whether the segment's data is correct and arrived for the first time.
        """
        number = (head.message - self._base) % _MESSAGE_NUMBERS
        known = number < len(self._messages.messages)  # unknown numbers belong to earlier iterations
        offset = head.segment * self._segment_bytes
        end = offset + self._segment_bytes
        if known and bytes(payload) != self._iteration.outgoing[number][offset:end]:
            return False
        incoming = self._incoming.get(pair)
        if incoming is None:
            incoming = self._incoming[pair] = Incoming()
        if not incoming.note_received(head.number):
            return False
        self._unacknowledged_since.setdefault(pair, now_ns)
        if known:
            self._iteration.receive(number, head.segment, offset, payload, now_ns)
        return True

    def _process_acknowledgement(
        self, pair: tuple[int, int], head: Head, payload: memoryview, now_ns: int
    ) -> bool:
        """Processes an acknowledgement for `pair` (source, destination); returns False for a duplicate."""
        connection = self._outgoing[pair]
        if not connection.answers.add(head.message):
            return False
        connection.acknowledge(head.number, int.from_bytes(payload, "big"), now_ns)
        return True

    def _count_sent(self) -> None:
        if self._uncounted_sent:
            source, destination, now_ns, frame_bytes = np.array(self._uncounted_sent, np.int64).T
            since_ns = now_ns - self._clock.monotonic_ns
            hosts = self._host_of[source], self._host_of[destination]
            self._sent.add(*hosts, since_ns, None, frame_bytes)
            self._uncounted_sent.clear()

    def _count_received(self) -> None:
        if not self._uncounted_received:
            return
        columns = np.array(self._uncounted_received, np.int64).T
        source, destination, arrived_ns = columns[:3]
        head = Head(*columns[3:])
        arrivals = ReceivedPackets(
            source=self._host_of[source],
            destination=self._host_of[destination],
            flow=head.port - SOURCE_PORT_BASE,
            number=head.number,
            hops=INITIAL_TTL - head.ttl,
            frame_bytes=SEGMENT_BYTES + head.length,
            sent_ns=head.sent_ns - self._clock.epoch_ns,
            arrived_ns=arrived_ns - self._clock.epoch_ns,
        )
        self._received.add(arrivals)
        latency_ns = arrivals.arrived_ns - arrivals.sent_ns
        self._reporter.add(len(latency_ns), int(arrivals.frame_bytes.sum()), latency_ns)
        self._uncounted_received.clear()

"""Program that samples the frames that switches have not read yet, many times a second.

A frame that has reached a switch's port waits in the receive buffer of that port's packet socket until the
userspace datapath reads it: /proc/PID/net/packet shows the memory of these frames ("Rmem"). No frame should
wait there for long, as packets are to queue at the links. By Little's law, the mean number of waiting frames
divided by the arrival rate is the mean waiting time. For Poisson arrivals, the mean of n (n - 1), where n is
the number of frames in a sample, divided by the squared rate is the mean square of that time (distributional
form of Little's law).

The program is a separate process with real-time priority, so that neither the fabric's load nor Python's GIL
delays its samples. If a sample is late nevertheless, the whole machine stalled.

    python -m experiments.validity.held_reader < switches

Standard input has one line, the JSON of switch name -> id of a process in its namespace; when this input is
closed, the program ends. Standard output gets the line `ready` before the first sample, and a line of JSON
for every second: [begin_s, end_s, stood_still_s, stood_still_square, {switch: [frames, waiting, pairs]}],
named as in `samples.HeldSecond` and `samples.SwitchSample`.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import select
import sys
import time

from topology.files.reading import read_counters

_SECOND_S = 1.0
_SAMPLES_PER_S = 50
_MAX_SHARE = 1 / 40  # largest share of one processor's time that samples may take
_MIN_SAMPLES = 10  # samples that a mean needs; with very many switches, a "second" lasts longer to have them
_PRIORITY = 10
_READ_BYTES = 1 << 16

# Memory of a frame in a packet socket's buffer, as Linux allocates it: a fixed size for small frames, a power
# of two up to a page, and a small buffer with whole pages for longer frames.
_SMALL_BYTES, _BOOKKEEPING_BYTES, _SOCKET_BUFFER_BYTES, _PAGE_BYTES = 576, 336, 256, 4096


def frame_memory_bytes(length: float) -> int:
    """Returns the memory that a frame takes in the buffer of a packet socket, in bytes.

    Measured with Linux 6.18 for frames of 60 to 9,000 bytes; older kernels take more for the smallest.

    Args:
        length: length of the frame in bytes.
    """
    needed = int(length) + _BOOKKEEPING_BYTES
    if needed <= _SMALL_BYTES:
        return _SOCKET_BUFFER_BYTES + _SMALL_BYTES
    if length <= _PAGE_BYTES:
        return int(_SOCKET_BUFFER_BYTES + (1 << (needed - 1).bit_length()))
    return int(_SOCKET_BUFFER_BYTES + _SMALL_BYTES - (-length // _PAGE_BYTES) * _PAGE_BYTES)


class SwitchFiles:
    """The kernel's counters of one switch's ports."""

    def __init__(self, pid: int) -> None:
        """Opens the files of a process in the switch's namespace; they stay readable after its end."""
        self._sockets = os.open(f"/proc/{pid}/net/packet", os.O_RDONLY)
        self._interfaces = os.open(f"/proc/{pid}/net/dev", os.O_RDONLY)

    def waiting_bytes(self) -> int:
        """Returns the memory in bytes of the frames that wait in the sockets of the switch's ports."""
        lines = os.pread(self._sockets, _READ_BYTES, 0).split(b"\n")
        return sum(int(line.split()[6]) for line in lines[1:] if line)

    def arrived(self) -> tuple[int, int]:
        """Returns the total frames and bytes that have reached the ports."""
        data = read_counters(self._interfaces)
        frames = length = 0
        for line in data.split(b"\n")[2:]:
            name, _, counters = line.partition(b":")
            if counters and name.strip() != b"lo":
                columns = counters.split(None, 2)
                length += int(columns[0])
                frames += int(columns[1])
        return frames, length


class _Second:
    """Samples of all switches in one second."""

    def __init__(self, switches: dict[str, SwitchFiles]) -> None:
        self._switches = switches
        self._before = {name: files.arrived() for name, files in switches.items()}
        self._waiting = dict.fromkeys(switches, 0)
        self._squares = dict.fromkeys(switches, 0)
        self._begin_s = time.monotonic()
        self._late_square = self._late_cube = 0.0
        self.samples = 0

    def sample(self, late_s: float) -> None:
        """Adds a sample of all switches, taken `late_s` seconds after its due time."""
        self._late_square += late_s**2
        self._late_cube += late_s**3
        for name, files in self._switches.items():
            waiting = files.waiting_bytes()
            self._waiting[name] += waiting
            self._squares[name] += waiting * waiting
        self.samples += 1

    def line(self) -> str:
        """Returns the second as a line of JSON, with the frames and the mean backlog of each switch."""
        end_s = time.monotonic()
        # A stop of t seconds in a second of T hits a share t/T of the frames. They wait for t/2 on average,
        # and the mean square of their waiting times is t^2/3.
        still_s = self._late_square / 2 / (end_s - self._begin_s)
        still_square = self._late_cube / 3 / (end_s - self._begin_s)
        seen = {}
        for name, files in self._switches.items():
            frames, length = (
                now - then for now, then in zip(files.arrived(), self._before[name], strict=True)
            )
            memory = frame_memory_bytes(length / frames if frames > 0 else 0)
            waiting = self._waiting[name] / max(1, self.samples) / memory
            pairs = max(0.0, self._squares[name] / max(1, self.samples) / memory**2 - waiting)
            seen[name] = (max(0, frames), round(waiting, 4), round(pairs, 4))
        span = (round(self._begin_s, 4), round(end_s, 4), round(still_s, 6), round(still_square, 9))
        return json.dumps((*span, seen))


class Pace:
    """Pace of the samples: many a second, unless they take too much of a processor's time.

    The cost of a sample is estimated by the cheapest one so far, as a thread's clock also counts steal time.
    """

    def __init__(self) -> None:
        self._min_s = math.inf

    def pause_s(self, spent_s: float) -> float:
        """Returns how many s to pause, on average, after a sample that took `spent_s` of processor time."""
        self._min_s = min(self._min_s, spent_s)
        return max(1 / _SAMPLES_PER_S, self._min_s / _MAX_SHARE)


def _main() -> None:
    with contextlib.suppress(OSError):  # containers may forbid it even to root
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    switches = {name: SwitchFiles(pid) for name, pid in json.loads(sys.stdin.readline()).items()}
    pace, pause_s, ends = Pace(), 1 / _SAMPLES_PER_S, False
    print("ready", flush=True)
    while not ends:
        second, due_s = _Second(switches), time.monotonic()
        end_s = due_s + _SECOND_S
        while not ends and (time.monotonic() < end_s or second.samples < _MIN_SAMPLES):
            # Random intervals: at a fixed period, samples could always, or never, coincide with arrivals.
            due_s = max(due_s + random.uniform(0.5, 1.5) * pause_s, time.monotonic())  # noqa: S311
            ends = bool(select.select([sys.stdin], [], [], max(0.0, due_s - time.monotonic()))[0])
            began_s = time.thread_time()
            second.sample(max(0.0, time.monotonic() - due_s))
            pause_s = pace.pause_s(time.thread_time() - began_s)
        print(second.line(), flush=True)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        _main()

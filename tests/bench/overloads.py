"""Ways to overload a machine while traffic runs; each takes a strength from 0 to 1 and yields it in words."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from experiments.live_fabric import LiveFabric


@contextmanager
def _running(commands: Sequence[Sequence[str]]) -> Iterator[None]:
    """Runs programs side by side during the block."""
    programs = [subprocess.Popen(words, stdout=subprocess.DEVNULL) for words in commands]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


@contextmanager
def _competing(_fabric: LiveFabric, strength: float) -> Iterator[str]:
    """Other programs that compute: up to 30 of them."""
    number = 1 + round(29 * strength)
    with _running([[sys.executable, "-S", "-c", "while True: pass"]] * number):
        yield f"{number} programs"


@contextmanager
def _again_and_again(action: Callable[[], None], pause_s: float) -> Iterator[None]:
    """Does something again and again during the block."""
    stop = threading.Event()

    def go_on() -> None:
        while not stop.wait(pause_s):
            action()

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def _stopped(fabric: LiveFabric, strength: float) -> Iterator[str]:
    """A switch that stalls for 5 to 500 ms, once a second."""
    switch = fabric.network.switches[len(fabric.network.switches) // 2]
    assert switch.vswitch
    daemon, seconds = switch.vswitch.processes[-1].pid, 0.005 * 100**strength

    def stop() -> None:
        os.kill(daemon, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(daemon, signal.SIGCONT)

    with _again_and_again(stop, 1.0):
        yield f"{seconds * 1e3:.0f} ms a second"


_STEAL = """
import os, sys, time
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
seconds = float(sys.argv[1])
while True:
    end = time.monotonic() + seconds
    while time.monotonic() < end: pass
    time.sleep(1 - seconds)
"""


@contextmanager
def _stolen(_fabric: LiveFabric, strength: float) -> Iterator[str]:
    """Time of all processors that nobody else gets, as if a host had taken it: 5 to 500 ms a second."""
    seconds = 0.005 * 100**strength
    words = [sys.executable, "-S", "-c", _STEAL, str(seconds)]
    with _running([words] * (os.cpu_count() or 1)):
        yield f"{seconds * 1e3:.0f} ms a second"


@contextmanager
def _interrupts(_fabric: LiveFabric, strength: float) -> Iterator[str]:
    """Packets of others: a flood through the kernel's own network, in a namespace of its own."""
    number = 1 + round(3 * strength)
    flood = "ip link set lo up; exec ping -q -f -s 1400 127.0.0.1"
    with _running([["unshare", "--net", "sh", "-c", flood]] * number):
        yield f"{number} floods"


@contextmanager
def nothing(_fabric: LiveFabric, _strength: float) -> Iterator[str]:
    yield "-"


Way = Callable[[LiveFabric, float], AbstractContextManager[str]]
# Too many frames and too many switches are fabrics of their own; the sixth was not looked at before.
WAYS: dict[str, Way] = {
    "competing programs": _competing,
    "a switch that stalls": _stopped,
    "stolen time": _stolen,
    "too many frames": nothing,
    "too many switches": nothing,
    "floods of others' packets": _interrupts,
}

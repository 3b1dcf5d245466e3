"""Fabrics for tests: the command as users run it, a fabric that stays up, and a look at leftovers."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from emulation.cleanup import RUN_DIR, marked_processes
from emulation.requirements import kernel_datapath_available
from experiments.events.base import ignore
from experiments.live_fabric import LiveFabric, live_fabric
from experiments.results.failover import DISTURBED_FROM_MS
from experiments.spec.collective import CollectiveOptions
from experiments.spec.fabric import FabricOptions
from experiments.traffic_jobs import make_job, run_collective_traffic
from topology.links import LinkSpec
from topology.registry import make_topology
from traffic.engine.engine import run_traffic
from traffic.wire.layout import HEADER_BYTES
from traffic.workload.schedule import AllPairsSchedule

needs_kernel_datapath = pytest.mark.skipif(
    os.geteuid() != 0 or not kernel_datapath_available(), reason="this kernel has no openvswitch module"
)

POLARLAB = str(Path(sys.executable).with_name("polarlab"))
# How many times longer than on a real machine things may take: an emulated one is slow.
PATIENCE = float(os.environ.get("POLARLAB_TEST_PATIENCE", "1"))
TIMEOUT_S = 120 * PATIENCE
measures_a_failover = pytest.mark.skipif(
    PATIENCE > 2, reason="an emulated machine does not pass thousands of probes a second"
)


def completed(argv: Sequence[str], **options: object) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end, without input, and keeps what it prints."""
    return subprocess.run(
        argv,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        stdin=subprocess.DEVNULL,
        **options,
    )


def polarlab(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end."""
    return completed([POLARLAB, *words], **options)


def start_polarlab(*words: str) -> subprocess.Popen[str]:
    """Starts the command, in a session of its own."""
    return subprocess.Popen(
        [POLARLAB, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def excuse_losses(lost: int, stolen_ms: float) -> None:
    """Skips a test that lost packets while the machine below took the processors."""
    if lost and stolen_ms >= DISTURBED_FROM_MS:
        pytest.skip(f"{lost} packets lost while the machine below took {stolen_ms:.0f} ms of the processors")


def settle(seconds: float) -> None:
    """Gives switches and controller time to notice something."""
    time.sleep(seconds * PATIENCE)


def eventually(holds: Callable[[], bool]) -> None:
    """Returns when something holds; fails if it does not within 20 s."""
    deadline = time.monotonic() + 20 * PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def wait_for_line(process: subprocess.Popen[str], part: str) -> None:
    """Returns when a line on standard error has `part` in it."""
    for line in process.stderr:
        if part in line:
            return
    raise AssertionError(f"no line with {part!r} came")


def one_line(text: str) -> str:
    """Returns the last line of what a command printed on standard error; no traceback is among it."""
    assert "Traceback" not in text
    return text.strip().splitlines()[-1]


def machine_state() -> dict[str, object]:
    """Returns what a fabric must leave as it was: processes, network namespaces, interfaces, files."""
    names, namespaces = Counter(), set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            namespaces.add((process / "ns" / "net").readlink())
        except OSError:
            continue
        for word in (b"ovs-vswitchd", b"ovsdb-server", b"mininet:", b"controller.service", b"traffic."):
            names[word] += word in command
    interfaces = sorted(path.name for path in Path("/sys/class/net").iterdir())
    return {
        "marked": len(marked_processes()),
        "processes": dict(names),
        "namespaces": len(namespaces),
        "interfaces": interfaces,
        "run directory": RUN_DIR.exists(),
        "named namespaces": sorted(p.name for p in Path("/run/netns").glob("*")),
    }


@pytest.fixture
def no_leftovers() -> Iterator[None]:
    """Compares the machine's state after a test with that before it."""
    before = machine_state()
    yield
    # What was killed may take a moment to vanish from /proc.
    for _ in range(50):
        after = machine_state()
        if after == before:
            break
        time.sleep(0.1)
    assert after == before


QUIET = ignore
_runs = itertools.count(1000)


def next_run() -> int:
    """Returns a run id that no other probes of this session have."""
    return next(_runs)


def er_options(q: int, routing: str = "min", hosts: int = 1) -> FabricOptions:
    """Returns the options of ER_q with links of 10 Mbit/s."""
    return fabric_options("polarfly", {"q": q}, routing, hosts)


def fabric_options(
    name: str, params: dict[str, int | str], routing: str = "min", hosts: int = 1
) -> FabricOptions:
    """Returns the options of a fabric with links of 10 Mbit/s."""
    topology = make_topology(name, params)
    return FabricOptions(name, params, topology, hosts, LinkSpec(10_000_000, 64), routing, "auto")


def probe_all_pairs(fabric: LiveFabric) -> tuple[list[tuple[str, str]], int]:
    """Sends one probe for every ordered pair of hosts and returns (missing pairs, most hops)."""
    count = len(fabric.hosts)
    # Every probe is the first of its kind: the kernel's datapath asks its switch's program about each.
    schedule = AllPairsSchedule(count, round(8_000_000 * PATIENCE))
    job = make_job(fabric, schedule, HEADER_BYTES, next_run(), 1, (0, 1 << 62))
    job = replace(job, quiet_ns=round(job.quiet_ns * PATIENCE))
    received = run_traffic(job, {}, fabric.network.run_dir).received
    missing = np.argwhere((received.frames == 0) & ~np.eye(count, dtype=bool))
    names = [host.name for host in fabric.hosts]
    return [(names[s], names[d]) for s, d in missing], int(received.hops_max.max())


@pytest.fixture(scope="module")
def er3() -> Iterator[LiveFabric]:
    """ER_3 with two hosts a router, up for a whole module."""
    with live_fabric(er_options(3, hosts=2), QUIET) as fabric:
        yield fabric


KIB = 1024


def collective_options(pattern, ranks, sizes, **others):
    """Returns the options of a collective of two iterations."""
    values = {"placement": "linear", "iterations": 2, "warmup_iterations": 1, "slices": 1}
    return CollectiveOptions(
        pattern, ranks, message_bytes=sizes, frame_bytes=1514, flows=16, seed=1, **{**values, **others}
    )


def complete_collective(fabric, chosen, starts=lambda _clock: None):
    """Runs a collective to its end."""
    return run_collective_traffic(fabric, chosen, lambda _seconds, _told: None, starts)

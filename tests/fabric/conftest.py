"""Fabrics for tests: commands as users run them, shared fabrics, probes, and a look at leftovers."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pair_probes import PATIENCE, close_prober, probe_all_pairs

from emulation.cleanup import RUN_DIR, marked_processes
from emulation.requirements import kernel_datapath_available
from experiments.events.base import ignore
from experiments.live_fabric import LiveFabric, live_fabric
from experiments.spec.collective import CollectiveOptions
from experiments.spec.fabric import FabricOptions
from experiments.traffic_jobs import run_collective_traffic
from polarlab import Fabric, Program, run
from topology.links import LinkSpec
from topology.registry import make_topology

needs_kernel_datapath = pytest.mark.skipif(
    os.geteuid() != 0 or not kernel_datapath_available(), reason="this kernel has no openvswitch module"
)

POLARLAB = str(Path(sys.executable).with_name("polarlab"))
TIMEOUT_S = 120 * PATIENCE
# A command that a busy machine can spoil is run so often before its test fails.
MAX_ATTEMPTS = 3
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


def summary_of_run(out: Path, *graph: object, **options: object) -> dict[str, Any]:
    """Runs an experiment by `polarlab.run` in this process, quicker than the command; returns its summary."""
    folder = run(*graph, out=out, **options).folder
    return json.loads((folder / "summary.json").read_text())


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


def settle(seconds: float) -> None:
    """Gives switches and controller time to notice something."""
    time.sleep(seconds * PATIENCE)


def eventually(holds: Callable[[], bool], every_s: float = 0.05) -> None:
    """Returns when something holds; fails if it does not within 20 s."""
    deadline = time.monotonic() + 20 * PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(every_s)


def acting(fabric: Fabric, host: str, code: str, *words: str) -> Program:
    """Starts Python code on a host, by the machine's interpreter; returns it once it has printed `ready`."""
    program = fabric.host(host).start(shlex.join(["/usr/bin/python3", "-c", code, *words]))
    eventually(lambda: "ready" in program.output or not program.running)
    assert program.running, program.stop().output
    return program


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
def no_leftovers(request: pytest.FixtureRequest) -> Iterator[None]:
    """Compares the machine's state after a test with that before it, less the controller of an orphan."""
    if "orphaned" in request.fixturenames:
        request.getfixturevalue("orphaned")
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


def er_options(q: int, routing: str = "min", hosts: int = 1) -> FabricOptions:
    """Returns the options of ER_q with links of 10 Mbit/s."""
    return fabric_options("polarfly", {"q": q}, routing, hosts)


def fabric_options(
    name: str, params: dict[str, int | str], routing: str = "min", hosts: int = 1
) -> FabricOptions:
    """Returns the options of a fabric with links of 10 Mbit/s."""
    topology = make_topology(name, params)
    return FabricOptions(name, params, topology, hosts, routing, LinkSpec(10_000_000, 64))


def eventually_missing(fabric: LiveFabric, expected: Collection[tuple[str, str]] = ()) -> int:
    """Probes all pairs until just the expected ones are missing and returns the most hops of the last probes.

    Switches take some milliseconds to notice that a port is dead or alive; a busy machine's take longer.
    """
    hops = 0

    def as_expected() -> bool:
        nonlocal hops
        missing, hops = probe_all_pairs(fabric)
        return set(missing) == set(expected)

    eventually(as_expected)
    return hops


# ---- fabrics that tests share ----

# The fabrics that are up for more than one test, by the fixtures that give them, in the order of their tests.
SHARED_FABRICS: Mapping[str, Callable[[], FabricOptions]] = {
    "er2": lambda: er_options(2),
    "er3": lambda: er_options(3, hosts=2),
    "er3_alive": lambda: er_options(3),
    "er4": lambda: er_options(4),
    "adaptive_er3": lambda: er_options(3, "ugal-pf"),
}


class SharedFabric:
    """The one shared fabric that is up, if any: it stays while tests ask for the same one after another."""

    def __init__(self) -> None:
        self.fabric: LiveFabric | None = None
        self.spoiled = False
        self._name: str | None = None
        self._opened = contextlib.ExitStack()

    def use(self, name: str | None) -> None:
        """Has that fabric up and no other; a new one where a test failed on it, or spoiled it."""
        if name == self._name and not self.spoiled:
            return
        self.close()
        if name is not None:
            self.fabric = self._opened.enter_context(live_fabric(SHARED_FABRICS[name](), QUIET))
            self._name = name

    def close(self) -> None:
        """Takes the fabric down."""
        close_prober()
        self.fabric, self._name, self.spoiled = None, None, False
        self._opened.close()


_shared = SharedFabric()


def _shared_name(item: pytest.Item) -> str | None:
    """Returns the shared fabric that a test needs: by a marker, or by the fixture that it uses."""
    if marker := item.get_closest_marker("shared_fabric"):
        return str(marker.args[0])
    return next((name for name in SHARED_FABRICS if name in getattr(item, "fixturenames", ())), None)


def _group(item: pytest.Item) -> str | None:
    """Returns what a test shares with others, a fabric or a module's results, which are one worker's."""
    shares = not _module_fixtures(item.path).isdisjoint(getattr(item, "fixturenames", ()))
    return _shared_name(item) or (item.path.stem if shares else None)


@cache
def _module_fixtures(path: Path) -> frozenset[str]:
    """Returns the fixtures that a module makes once for all of its tests."""
    return frozenset(re.findall(r'@pytest\.fixture\(.*scope="module".*\)\ndef (\w+)', path.read_text()))


@pytest.hookimpl(tryfirst=True)  # before the distribution to workers looks for groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Brings the tests that share a fabric together, those that spoil it last; the others stay in order."""
    for item in items:
        if item.path.parent == Path(__file__).parent and (group := _group(item)):
            item.add_marker(pytest.mark.xdist_group(group))
    places = list(SHARED_FABRICS)
    here = [index for index, item in enumerate(items) if item.path.parent == Path(__file__).parent]

    def order(index: int) -> tuple[int, bool]:
        name = _shared_name(items[index])
        place = len(places) if name is None else places.index(name)
        return place, items[index].get_closest_marker("spoils_fabric") is not None

    ordered = [items[index] for index in sorted(here, key=order)]
    for index, item in zip(here, ordered, strict=True):
        items[index] = item


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Has the fabric up that a test shares with others, and none for a test that launches its own."""
    if item.path.parent == Path(__file__).parent:
        _shared.use(_shared_name(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keeps tests from a fabric on which another one failed, or that another one has spoiled."""
    report = yield
    _shared.spoiled |= report.failed or item.get_closest_marker("spoils_fabric") is not None
    return report


def pytest_sessionfinish() -> None:
    """Takes the last shared fabric down, and closes what is open."""
    _shared.close()


def shared_fabric() -> LiveFabric:
    """Returns the shared fabric that is up."""
    assert _shared.fabric
    return _shared.fabric


@pytest.fixture
def er2() -> LiveFabric:
    """ER_2 with one host a router."""
    return shared_fabric()


@pytest.fixture
def er3() -> LiveFabric:
    """ER_3 with two hosts a router."""
    return shared_fabric()


@pytest.fixture
def er3_alive() -> LiveFabric:
    """ER_3 with one host a router, for faults."""
    return shared_fabric()


@pytest.fixture
def adaptive_er3() -> LiveFabric:
    """ER_3 with one host a router, whose routing adapts."""
    return shared_fabric()


@pytest.fixture
def orphaned() -> LiveFabric:
    """A shared fabric, by the marker, whose controller is gone; for tests that spoil it."""
    fabric = shared_fabric()
    if not fabric.controller.stopped:
        fabric.controller.stop()
    return fabric


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

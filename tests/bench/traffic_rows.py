"""Patterns, link loads and collectives with real packets on PolarFly."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from rows import Row

from emulation.subprocesses import marked_environment
from experiments.events.base import ignore
from experiments.live_fabric import LiveFabric, live_fabric
from experiments.results.collective import collective_summary
from experiments.results.link_loads import directed_links, link_loads
from experiments.spec.collective import CollectiveOptions
from experiments.spec.fabric import FabricOptions
from experiments.traffic_jobs import make_job, run_collective_traffic
from experiments.validity.link_monitor import LinkMonitor
from topology.families.low_diameter.polarfly import PolarFly
from topology.links import LinkSpec
from topology.registry import make_topology
from traffic.engine import sockets
from traffic.engine.engine import run_traffic
from traffic.wire.layout import HEADER_BYTES, signature
from traffic.wire.probe_codec import intact, read_headers
from traffic.workload.patterns import PATTERNS, make_pattern
from traffic.workload.schedule import PatternSchedule

_QUIET = ignore
_NS = 1_000_000_000


def _fabric(q: int, rate_bps: int, *, hosts: int = 1, mtu: int = 1500) -> FabricOptions:
    spec = LinkSpec(rate_bps, 32, mtu)
    return FabricOptions("polarfly", {"q": q}, PolarFly(q), hosts, "min", spec)


# ---- where every frame goes ----


def patterns_er7() -> list[Row]:
    """Every frame that leaves a host goes where its pattern's definition says, and arrives there."""
    rows = []
    with live_fabric(_fabric(7, 2_000_000), _QUIET) as fabric:
        names = [name for name in PATTERNS if name in _DEFINITIONS and name != "adversarial"]
        rows.append(_captured_row("ER_7", fabric, names))
    options: dict[str, int | str] = {"q": 2, "supernode": "iq", "degree": 3}
    topology = make_topology("polarstar", options)
    polarstar = FabricOptions("polarstar", options, topology, 1, "min", LinkSpec(2_000_000, 32))
    with live_fabric(polarstar, _QUIET) as fabric:
        rows.append(_captured_row("PolarStar of 56", fabric, ["adversarial"]))
    return rows


def _captured_row(what: str, fabric: LiveFabric, names: list[str]) -> Row:
    frames, wrong, missing = 0, 0, []
    for number, name in enumerate(names):
        sent = _captured(fabric, name, 700 + number)
        allowed = _DEFINITIONS[name](fabric, sent)
        frames += len(sent)
        wrong += sum(not allowed(source, destination) for source, destination in sent)
        if not sent:
            missing.append(name)
    return Row(
        f"{what}: frames captured at all hosts that go elsewhere than their pattern's definition says",
        f"{len(names)} patterns, definitions written anew",
        f"{wrong} of {frames:,}" + (f", nothing sent of {missing}" if missing else ""),
        "none",
        frames > 0 and not wrong and not missing,
    )


def _captured(fabric: LiveFabric, name: str, run: int) -> list[tuple[int, int]]:
    """Runs a pattern for two seconds and returns (source, destination) of all frames seen at the hosts.

    A socket on every host's interface hears what leaves; what arrives is heard by the collector, which tells
    what reached a wrong host.
    """
    pattern = make_pattern(name, fabric.options.topology, 1, 1)
    schedule = PatternSchedule(pattern, 40, 2 * _NS, 16, 1)
    job = make_job(fabric, schedule, HEADER_BYTES, run, 16, (0, 2 * _NS))
    index = {host.ip: place for place, host in enumerate(fabric.hosts)}
    heard: list[tuple[int, int]] = []
    ended = threading.Event()
    places = (host.sending_place for host in job.hosts)
    opened = sockets.open_all(places, lambda interface: sockets.open_receiver(interface, signature(run)))
    taps = list(enumerate(opened))
    buffer = sockets.ReceiveBuffer(1024, HEADER_BYTES)

    def listen() -> None:
        last = False
        while not last:
            last = ended.is_set()
            for place, tap in taps:
                while count := buffer.receive(tap.fileno(), 0, 1024):
                    headers = read_headers(buffer.frames[:count])
                    good = headers[intact(headers)]
                    ends = zip(good["ip_src"].tolist(), good["ip_dst"].tolist(), strict=True)
                    heard.extend((index[s], index[d]) for s, d in ends if index[s] == place)
                    buffer.reset(count)
            ended.wait(0.01)

    thread = threading.Thread(target=listen)
    thread.start()
    result = run_traffic(job, marked_environment(), fabric.network.run_dir)
    ended.set()
    thread.join()
    for _, tap in taps:
        tap.close()
    if result.received.misdelivered or int(result.received.frames.sum()) != len(heard):
        heard.append((-1, -1))  # not all of them arrived, or not where they should
    return heard


# Definitions, by the papers' words and not by the code under test: (fabric, what was sent) -> is this
# allowed?
_Allowed = Callable[[int, int], bool]


def _bits(of: Callable[[str], str]) -> Callable[[LiveFabric, Any], _Allowed]:
    def definition(fabric: LiveFabric, _sent: Any) -> _Allowed:
        width = len(fabric.hosts).bit_length() - 1

        def allowed(source: int, destination: int) -> bool:
            return 0 <= source < 1 << width and int(of(f"{source:0{width}b}"), 2) == destination

        return allowed

    return definition


def _vectors(q: int) -> npt.NDArray[np.int64]:
    """Returns the vector of every router of ER_q."""
    return PolarFly(q).vectors(np.arange(q * q + q + 1)).astype(np.int64)


def _dot_products(q: int) -> dict[tuple[int, int], int]:
    """Returns the distances of ER_q's routers, for a prime q, from nothing but dot products modulo q."""
    vectors = _vectors(q)
    products = vectors @ vectors.T % q
    return {
        (s, d): 0 if s == d else 1 if products[s, d] == 0 else 2
        for s, d in product(range(len(vectors)), repeat=2)
    }


def _permutation(hops: int | None) -> Callable[[LiveFabric, list[tuple[int, int]]], _Allowed]:
    def definition(fabric: LiveFabric, sent: list[tuple[int, int]]) -> _Allowed:
        pairs = set(sent)
        sources, destinations = {s for s, _ in pairs}, {d for _, d in pairs}
        one_to_one = len(pairs) == len(sources) == len(destinations) == len(fabric.hosts)
        apart = _dot_products(int(fabric.options.params["q"]))
        return lambda s, d: one_to_one and s != d and (hops is None or apart[s, d] == hops)

    return definition


def _uniform(fabric: LiveFabric, sent: list[tuple[int, int]]) -> _Allowed:
    """Anybody else, and about as often as anybody else."""
    hosts = len(fabric.hosts)
    counts = np.zeros((hosts, hosts))
    np.add.at(counts, tuple(np.array(sent).T), 1)
    received = counts.sum(axis=0)
    even = bool((np.abs(received / received.mean() - 1) < 0.5).all())
    return lambda s, d: even and s != d


def _hotspot(fabric: LiveFabric, sent: list[tuple[int, int]]) -> _Allowed:
    """Half of the packets of the others to host 0, and of the rest its part; anybody else about as often."""
    hosts = len(fabric.hosts)
    to_hot = [destination == 0 for source, destination in sent if source != 0]
    expected = 0.5 + 0.5 / (hosts - 1)
    even = abs(sum(to_hot) / max(1, len(to_hot)) - expected) < 0.1
    return lambda s, d: even and s != d


def _adversarial(fabric: LiveFabric, sent: list[tuple[int, int]]) -> _Allowed:
    """All of a supernode to one other, one to one, at the fabric's diameter wherever two of them can be."""
    size = len(fabric.options.topology.clusters().members[0])
    pairs = set(sent)
    partner = {s // size: d // size for s, d in pairs}
    one_to_one = len({s for s, _ in pairs}) == len({d for _, d in pairs}) == len(pairs) == len(fabric.hosts)
    everyone = np.arange(fabric.options.topology.routers)
    distances = fabric.options.topology.distances(everyone[:, None], everyone)
    longest = int(distances.max())
    far = sum(int(distances[s, d]) == longest for s, d in pairs)

    def allowed(source: int, destination: int) -> bool:
        groups = source // size, destination // size
        return one_to_one and far > len(pairs) / 2 and partner[groups[0]] == groups[1] != groups[0]

    return allowed


_DEFINITIONS: dict[str, Callable[[LiveFabric, list[tuple[int, int]]], _Allowed]] = {
    "uniform": _uniform,
    "tornado": lambda fabric, _: lambda s, d: d == (s + len(fabric.hosts) // 2) % len(fabric.hosts),
    "hotspot": _hotspot,
    "shift": lambda fabric, _: lambda s, d: d == (s + 1) % len(fabric.hosts),
    "neighbour": lambda fabric, _: lambda s, d: d == (s + 1) % len(fabric.hosts),
    "random-permutation": _permutation(None),
    "perm1hop": _permutation(1),
    "perm2hop": _permutation(2),
    "adversarial": _adversarial,
    "bit-shuffle": _bits(lambda text: text[1:] + text[0]),
    "bit-rotation": _bits(lambda text: text[-1] + text[:-1]),
    "bit-reverse": _bits(lambda text: text[::-1]),
    "bit-complement": _bits(lambda text: text.translate({48: 49, 49: 48})),
}


# ---- link loads ----


def uniform_link_loads() -> list[Row]:
    """Uniform traffic under `min`: what each link carries, against how many router pairs cross it."""
    q, seconds, load, frame_bytes = 3, 60, 0.9, 400
    with live_fabric(_fabric(q, 2_000_000), _QUIET) as fabric:
        topology, spec = fabric.options.topology, fabric.options.links
        pattern = make_pattern("uniform", topology, 1, 1)
        rate = load * spec.rate_bps / (frame_bytes * 8)
        schedule = PatternSchedule(pattern, rate, seconds * _NS, 16, 1)
        job = make_job(fabric, schedule, frame_bytes, 800, 16, (0, schedule.end_ns))
        with LinkMonitor(fabric, frame_bytes) as sampler:
            result = run_traffic(job, marked_environment(), fabric.network.run_dir)
        assert sampler.log
        begin_s = result.clock.monotonic_ns / _NS
        links = directed_links(topology)
        loads = link_loads(sampler.log.history, links, begin_s, begin_s + seconds, spec.rate_bps).loads
    quadrics = {int(v) for v in np.flatnonzero((_vectors(q) ** 2).sum(axis=1) % q == 0)}
    pairs = np.array([2 * q if {one.source, one.destination} & quadrics else 2 * q - 1 for one in links])
    # A host's packets go to the other routers evenly; what was really sent, not what was asked for.
    sent_share = float(result.sent.frames.sum()) * frame_bytes * 8 / (seconds * spec.rate_bps)
    expected = pairs * sent_share / (topology.routers * (topology.routers - 1))
    off = loads / expected - 1
    ordered_pairs = topology.routers * (topology.routers - 1)
    chance = 1 / np.sqrt(result.sent.frames.sum() * pairs.min() / ordered_pairs)
    return [
        Row(
            f"ER_{q}, uniform, min, {seconds} s: each directed link's load, {len(links)} links",
            "router pairs over it: 2q - 1, at quadrics 2q",
            f"worst {off[np.abs(off).argmax()]:+.1%}, mean {off.mean():+.2%} "
            f"({int(result.sent.frames.sum()):,} packets; by chance alone a link is some {chance:.1%} off)",
            "within 5 %",
            bool(np.abs(off).max() <= 0.05),
        )
    ]


# ---- collectives ----


def ring_allreduce() -> list[Row]:
    """An allreduce around a ring of 16 ranks whose paths share no link, against what no ring can beat."""
    rows = []
    for rate_bps, mtu in ((20_000_000, 9000), (5_000_000, 1500)):
        ranks, size = 16, 1 << 20
        chosen = CollectiveOptions("allreduce:ring", ranks, "linear", (size,), 5, 1, 2, mtu + 14, 64, 1)
        with live_fabric(_fabric(7, rate_bps, mtu=mtu), _QUIET) as fabric:
            result = run_collective_traffic(fabric, chosen, lambda _s, _t: None, lambda _clock: None)
        assert result.outcome
        told = collective_summary(chosen, result.outcome)
        bound_ms = 2 * (ranks - 1) / ranks * size * 8 / rate_bps * 1e3
        measured_ms = told.completion_ms or math.inf
        rows.append(
            Row(
                f"ER_7, ring allreduce of 1 MiB, 16 ranks, links of {rate_bps / 1e6:g} Mbit/s, MTU {mtu}",
                f"2 (n - 1) / n x size / rate = {bound_ms:.0f} ms",
                f"{measured_ms:.0f} ms, {measured_ms / bound_ms - 1:+.1%}; {told.wrong_results} wrong "
                f"results, {told.resent} segments sent again",
                "within 15 %",
                measured_ms <= 1.15 * bound_ms and not told.wrong_results,
            )
        )
    return rows


def compared_allreduce() -> list[Row]:
    """The same allreduce under `min` and `ugal-pf`, ranks placed at random, so that paths share links."""
    rows = []
    size, ranks = 256 << 10, 32
    for algorithm in ("ring", "recursive-doubling", "rabenseifner"):
        times = {}
        for routing in ("min", "ugal-pf"):
            options = replace(_fabric(5, 2_000_000, hosts=2), routing=routing)
            chosen = CollectiveOptions(
                f"allreduce:{algorithm}", ranks, "random:1", (size,), 4, 1, 2, 1514, 64, 1
            )
            with live_fabric(options, _QUIET) as fabric:
                result = run_collective_traffic(fabric, chosen, lambda _s, _t: None, lambda _clock: None)
            assert result.outcome
            times[routing] = collective_summary(chosen, result.outcome)
        rows.append(
            Row(
                f"ER_5, 2 hosts a router, allreduce:{algorithm} of 256 KiB, 32 ranks at random: ugal-pf",
                f"min {times['min'].completion_ms:.0f} ms",
                f"{times['ugal-pf'].completion_ms:.0f} ms",
                "-",
                not times["min"].wrong_results and not times["ugal-pf"].wrong_results,
            )
        )
    return rows

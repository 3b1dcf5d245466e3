"""Kernel of lossless routers: nothing is lost or made, order is kept, and a seed means one result."""

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict, deque
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.builders.graphs import FABRICS
from support.builders.simulated_networks import (
    Watch,
    digest,
    mean_latency,
    polarfly_pattern,
    polarfly_tables,
    simulated,
)
from support.fixtures.documents import ROOT
from support.oracles import kernel_cases

from routing.registry import make_plan
from simulation.arrays import network as network_arrays
from simulation.arrays.network import make_network
from simulation.kernels import compiled
from simulation.kernels import state as of
from simulation.kernels.credit import DONE, RUNNING, run
from simulation.settings import Decision, RouterSettings, Times, Workload
from simulation.simulator import simulate
from simulation.tables.check import PacketKind, forwarded, look_up
from simulation.tables.compiler import compile_tables
from simulation.timing import unloaded_cycles
from topology.families.dragonflies.dragonfly import Dragonfly
from topology.families.low_diameter.polarfly import PolarFly
from traffic.workload.patterns import Pattern, make_pattern

pytestmark = pytest.mark.usefixtures("compiled_kernels")

LAWS = {"ugal-pf": "threshold", "ugal": "product"}
# Of two runs on ER_5; the same on every machine.
DIGESTS = {"min": "b525dafdefb06a43", "ugal-pf": "5c3847159bcb1d28"}


def decision_for(routing, threshold=0.25):
    return Decision(law=LAWS.get(routing, "minimal"), threshold=threshold)


def test_kernels_give_the_same_numbers_without_compilation():
    program = [sys.executable, str(ROOT / "tests" / "support" / "oracles" / "kernel_cases.py")]
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": paths}
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=True)
    interpreted, ours = json.loads(done.stdout), kernel_cases.digests()
    assert interpreted == ours
    assert len(set(ours.values())) == len(ours)


@pytest.mark.parametrize("prefetches", [False, True])
@pytest.mark.parametrize("routing", DIGESTS)
def test_a_run_gives_the_same_numbers_on_every_machine(routing, prefetches, monkeypatch):
    monkeypatch.setattr(network_arrays, "CACHE_BYTES", 0 if prefetches else 1 << 40)
    found = simulated(
        polarfly_tables(5, 3, routing),
        polarfly_pattern(5, 3, "uniform"),
        0.8,
        decision=decision_for(routing),
        warmup=300,
        window=500,
    )
    assert digest(found) == DIGESTS[routing]


def test_a_seed_means_one_result_and_another_seed_another():
    tables, pattern = polarfly_tables(3, 2, "ugal"), polarfly_pattern(3, 2, "uniform")
    first, again, other = (
        digest(simulated(tables, pattern, 0.7, decision=decision_for("ugal"), seed=seed))
        for seed in (5, 5, 6)
    )
    assert first == again != other


def test_compiled_kernels_belong_to_the_state_of_all_their_modules(tmp_path, monkeypatch):
    before = compiled.cache_folder()
    copy = tmp_path / "kernels"
    shutil.copytree(Path(compiled.__file__).parent, copy)
    monkeypatch.setattr(compiled, "__file__", str(copy / "compiled.py"))
    assert compiled.cache_folder() == before
    (copy / "inputs.py").write_text("# changed")
    assert compiled.cache_folder() != before


def test_kernels_run_where_no_folder_can_be_written(monkeypatch):
    njit = compiled.numba.njit

    def without_folder(**options):
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function 'doubled': no locator available for file 'doubled.py'")
        return njit(**options)

    def doubled(number):
        return 2 * number

    monkeypatch.setattr(compiled.numba, "njit", without_folder)
    assert compiled.compiled(doubled)(3) == 6


# ---- conservation ----


def check_conservation(network, watch):
    """Every packet and every place of a buffer is somewhere, once; ports know what is theirs."""
    on_links = watch.on_links()
    full = np.flatnonzero(network.queues[:, of.COUNT]).tolist()
    queued = [packet for queue in full for packet in watch.queued(queue)]
    unused = network.unused[: network.counts[of.UNUSED]].tolist()
    assert sorted(on_links + queued + unused) == list(range(len(network.packets)))
    room = network.queues[:, of.ROOM].copy()
    on_way = np.bincount(network.packets[on_links, of.QUEUE], minlength=len(room))
    taken = network.queues[:, of.COUNT] + on_way + watch.credits_on_the_way()
    assert (room + taken * watch.flits == np.where(watch.exists, watch.capacity, 0)).all()
    used = ((watch.exists * watch.capacity) - room).reshape(len(network.inputs), -1).sum(axis=1)
    links = np.flatnonzero(network.outputs[:, of.PEER] >= 0)
    if network.settings[of.LAW] != of.MINIMAL_LAW:  # nobody else asks
        assert (network.used[network.outputs[links, of.PEER]] == used[links]).all()
    waiting = (network.queues[:, of.COUNT] > 0) & (network.queues[:, of.NEXT_BLOCKED] == of.NOT_BLOCKED)
    waiting[network.new_heads[: network.counts[of.NEW_HEADS]]] = False
    waiting = waiting.reshape(len(network.inputs), -1)
    ready = (waiting << np.arange(waiting.shape[1])).sum(axis=1)
    assert (network.inputs[:, of.READY] == ready).all()
    assert (network.inputs[ready > 0, of.PLANNED] == 1).all()


@settings(max_examples=25)
@given(
    fabric=st.sampled_from(["petersen", "a ring with one link twice", "two links and no more", "line"])
    | st.integers(2, 4),
    hosts=st.integers(1, 3),
    routing=st.sampled_from(["min", "valiant", "ugal", "ugal-pf"]),
    flits=st.integers(1, 5),
    places=st.integers(1, 4),
    load=st.sampled_from([0.2, 0.6, 1.0]),
    seed=st.integers(0, 1000),
    others=st.fixed_dictionaries(
        {
            "channels": st.integers(1, 6),
            "speedup": st.integers(1, 3),
            "channel_policy": st.sampled_from(["hop", "class", "any", "free", "random"]),
            "arbitration": st.sampled_from(["round-robin", "random"]),
            "router_cycles": st.integers(1, 3),
            "link_cycles": st.integers(1, 4),
            "global_link_cycles": st.none() | st.integers(1, 9),
            "host_link_cycles": st.integers(1, 2),
            "credit_cycles": st.integers(1, 3),
        }
    ),
)
def test_packets_and_credits_are_conserved_at_every_tick(
    *, fabric, hosts, routing, flits, places, load, seed, others
):
    topology = PolarFly(fabric) if isinstance(fabric, int) else FABRICS[fabric]()
    if routing == "ugal-pf" and not isinstance(fabric, int):
        routing = "ugal"
    tables = compile_tables(make_plan(topology, hosts, routing))
    if others["channels"] == 1 and others["channel_policy"] == "class":
        others["channels"] = 2
    pattern = Pattern("uniform", tables.hosts)
    routers = RouterSettings(packet_flits=flits, buffer_flits=places * flits, **others)
    workload = Workload(pattern=pattern, load=load, arrivals="poisson")
    network = make_network(tables, workload, routers, decision_for(routing), seed)
    watch = Watch(network, tables)
    for tick in range(1, 150):
        assert run(network, tick, False) == RUNNING
        check_conservation(network, watch)
    run(network, 1000, False)  # long enough for the first packet of the slowest network
    assert network.counts[of.ARRIVED] > 0


@pytest.mark.parametrize("routing", ["min", "valiant", "ugal", "ugal-pf"])
@pytest.mark.parametrize("policy", ["hop", "any", "free", "random"])
def test_packets_keep_their_order_and_take_hops_of_the_tables(routing, policy):
    tables, pattern = polarfly_tables(3, 2, routing), polarfly_pattern(3, 2, "uniform")
    routers = RouterSettings(channel_policy=policy, buffer_flits=8)
    workload = Workload(pattern=pattern, load=0.9)
    network = make_network(tables, workload, routers, decision_for(routing), 3)
    assert followed_hops(network, tables, 500) > 1000


def test_packets_whose_tag_was_removed_take_hops_of_their_own_table():
    topology = Dragonfly(a=8, h=4, trunking=4)
    tables = compile_tables(make_plan(topology, 1, "four-color-valiant"))
    workload = Workload(pattern=make_pattern("uniform", topology, 1, 1), load=0.9)
    network = make_network(tables, workload, RouterSettings(channel_policy="any"), Decision(), 3)
    assert followed_hops(network, tables, 100) > 1000


def followed_hops(network, tables, ticks):
    """Follows all packets from tick to tick, and returns the hops, each of which tables allow."""
    watch = Watch(network, tables)
    before, sent = {}, defaultdict(deque)
    hops = 0
    for tick in range(1, ticks):
        run(network, tick, False)
        now = {}
        for packet in watch.on_links():
            now[packet] = int(network.packets[packet, of.QUEUE])
        for queue in np.flatnonzero(network.queues[:, of.COUNT]).tolist():
            now.update(dict.fromkeys(watch.queued(queue), queue))
        for packet, (queue, tag, mark) in before.items():
            if now.get(packet) == queue:
                continue
            assert sent[queue].popleft() == packet
            port = queue >> watch.shift
            router = int(network.inputs[port, of.OWNER])
            destination = int(network.packets[packet, of.ROUTER])
            if packet not in now:
                assert (router, tag) == (destination, of.NONE) or tag == router == destination
                continue
            of_host = bool(network.inputs[port, of.HOST_INPUT])
            # A head that waits has the tag that it will have beyond.
            came_with = int(network.packets[packet, of.FLAGS] >> of.ARRIVED_TAG_SHIFT) - 1
            assert came_with in ((of.NONE,) if of_host else (tag, router))
            kind = PacketKind(of_host, came_with, mark)
            allowed = forwarded(tables, look_up(tables, kind, router, destination))
            link = watch.link_of[now[packet] >> watch.shift]
            new_mark = int(bool(network.packets[packet, of.FLAGS] & of.MARKED))
            assert (link, int(network.packets[packet, of.TAG]), new_mark) in {
                *allowed.shares,
                *allowed.detours,
            }
            hops += 1
        for packet, queue in now.items():
            if packet not in before or before[packet][0] != queue:
                sent[queue].append(packet)
        before = {
            packet: (
                queue,
                int(network.packets[packet, of.TAG]),
                int(bool(network.packets[packet, of.FLAGS] & of.MARKED)),
            )
            for packet, queue in now.items()
        }
    assert hops == network.counts[of.PACKET_HOPS]
    return hops


@pytest.mark.parametrize("flits", [1, 4])
def test_credits_of_all_places_of_all_buffers_may_be_on_their_way_at_once(flits):
    # As when a head goes and all packets behind it, at many inputs, are dropped.
    tables = polarfly_tables(2, 1, "min")
    workload = Workload(pattern=polarfly_pattern(2, 1, "uniform"), load=0.5)
    network = make_network(tables, workload, RouterSettings(packet_flits=flits), Decision(), 1)
    assert network.credits.shape[1] > network.queues[:, of.ROOM].sum() // flits


# ---- measures ----


def test_a_packet_alone_takes_the_time_of_its_pipelines():
    tables, pattern = polarfly_tables(3, 1, "min"), polarfly_pattern(3, 1, "uniform")
    found = simulated(tables, pattern, 0.002, window=40_000)
    assert found.queueing_sum / found.delivered < 0.02
    assert unloaded_cycles(2, RouterSettings()) == 2 + 3 * 3 + 3
    other = {"router_cycles": 4, "link_cycles": 7, "host_link_cycles": 3, "packet_flits": 2}
    found = simulated(tables, pattern, 0.002, window=40_000, **other)
    assert found.queueing_sum / found.delivered < 0.02
    routers = RouterSettings(**other)
    assert min(unloaded_cycles(hops, routers) for hops in (1, 2)) == np.flatnonzero(found.latency_counts)[0]


@pytest.mark.parametrize("load", [0.3, 0.9])
def test_what_is_born_is_accepted_and_delivered(load):
    tables, pattern = polarfly_tables(3, 2, "min"), polarfly_pattern(3, 2, "uniform")
    runs = [simulated(tables, pattern, load, window=5000, seed=seed) for seed in range(10)]
    assert all(one.delivered == one.offered == one.latency_counts.sum() == one.hops.sum() for one in runs)
    assert all(one.host_packets.sum() == one.accepted for one in runs)
    # What is under way at the window's end was so at its begin, but for chance.
    missing = np.array([one.offered - one.accepted for one in runs])
    assert abs(missing.mean()) < 4 * missing.std(ddof=1) / len(runs) ** 0.5
    hops = np.arange(len(runs[0].hops)) @ runs[0].hops
    assert runs[0].link_flits.sum() / 4 == pytest.approx(hops, rel=0.02)


def test_rare_packets_are_not_a_deadlock():
    tables, pattern = polarfly_tables(2, 1, "min"), polarfly_pattern(2, 1, "uniform")
    found = simulated(tables, pattern, 1e-4, warmup=0, window=300_000)
    assert found.deadlock is None
    assert found.delivered == found.offered > 20


def test_long_links_are_not_a_deadlock():
    tables, pattern = polarfly_tables(2, 1, "min"), polarfly_pattern(2, 1, "uniform")
    found = simulated(tables, pattern, 1e-3, warmup=0, window=20_000, link_cycles=2000)
    assert found.deadlock is None
    assert mean_latency(found) > 2000


def test_packets_that_every_switch_drops_are_not_a_deadlock():
    # So many that some are always there.
    tables, pattern = polarfly_tables(3, 1, "min"), polarfly_pattern(3, 1, "uniform")
    found = simulated(replace(tables, from_host=np.full_like(tables.from_host, -1)), pattern, 1.0)
    assert found.deadlock is None
    assert found.dropped == found.offered > 0
    assert found.delivered == found.accepted == 0


def test_a_packet_in_a_loop_is_dropped_when_its_ttl_ends():
    # Router 1 sends packets to router 4 back to router 0.
    topology = FABRICS["line"]()
    tables = compile_tables(make_plan(topology, 1, "min"))
    untagged = tables.untagged.copy()
    untagged[1, 4] = untagged[1, 0]
    tables = replace(tables, untagged=untagged)
    partners = (4, -1, -1, -1, -1)
    found = simulated(tables, Pattern("to the end", 5, partners=partners), 0.01, window=5000)
    assert found.deadlock is None
    assert found.dropped == found.offered > 0
    network = make_network(
        tables,
        Workload(pattern=Pattern("to the end", 5, partners=partners), load=0.01),
        RouterSettings(),
        Decision(),
        1,
    )
    run(network, 10_000, False)
    assert network.packets[:, of.HOPS].max() == 63


def test_an_interrupted_run_keeps_what_was_measured():
    tables, pattern = polarfly_tables(3, 1, "min"), polarfly_pattern(3, 1, "uniform")

    def interrupted_at(cycle):
        def progress(cycles, _):
            if cycles >= cycle:
                raise KeyboardInterrupt

        times = Times(warmup=2000, window=10_000)
        workload = Workload(pattern=pattern, load=0.5)
        return simulate(tables, workload, RouterSettings(), Decision(), times, 1, progress)

    early, late, drained = interrupted_at(1000), interrupted_at(6000), interrupted_at(12_001)
    assert early.interrupted
    assert (early.cycles, early.warmup, early.window, early.offered) == (1000, 1000, 0, 0)
    assert late.interrupted
    assert (late.cycles, late.warmup, late.window) == (6000, 2000, 4000)
    assert late.offered == pytest.approx(4000 * tables.hosts / 8, rel=0.05)
    assert late.accepted == pytest.approx(late.offered, rel=0.01)
    assert 0 < late.delivered <= late.offered
    assert not drained.interrupted or drained.window == 10_000


def test_a_drain_ends_with_the_last_packet_of_the_window():
    tables, pattern = polarfly_tables(3, 1, "min"), polarfly_pattern(3, 1, "uniform")
    network = make_network(tables, Workload(pattern=pattern, load=0.5), RouterSettings(), Decision(), 1)
    assert run(network, 100, False) == RUNNING
    assert run(network, 200, True) == DONE
    found = simulated(tables, pattern, 0.5, warmup=500, window=500)
    assert found.cycles < 1100
    assert found.delivered == found.offered


def test_a_state_whose_sources_fall_behind_is_not_steady():
    # The links of some pairs carry 0.25 each: from there on their sources' queues grow, and slowly at 0.28.
    tables, pattern = polarfly_tables(3, 2, "min"), polarfly_pattern(3, 2, "tornado")
    assert simulated(tables, pattern, 0.24, warmup=None).steady
    overloaded = simulated(tables, pattern, 0.28, warmup=None)
    assert overloaded.steady is False
    assert overloaded.warmup < 50_000  # no warm-up would help


def test_a_warm_up_ends_when_the_state_is_steady():
    tables, pattern = polarfly_tables(3, 2, "min"), polarfly_pattern(3, 2, "uniform")
    steady = simulated(tables, pattern, 0.5, warmup=None, window=1000)
    assert steady.steady
    assert 3000 <= steady.warmup < 6000
    assert steady.accepted == pytest.approx(steady.offered, rel=0.02)
    heavy = make_pattern("tornado", PolarFly(3), 2, 1)
    assert simulated(tables, heavy, 1.0, warmup=None, window=1000).accepted > 0

"""The controller's law over buckets of flows: what packets take, and what the loop's period costs."""

import numpy as np
import pytest
from support.builders.simulated_networks import mean_hops, polarfly_pattern

from routing.algorithms.bucket_control import SwitchAdapter
from routing.registry import make_plan
from simulation import bucket_loop
from simulation.arrays.network import make_network
from simulation.arrays.ports import link_ports
from simulation.bucket_loop import BucketLoop
from simulation.faults import SimulatedFaults
from simulation.kernels.decisions import DETOUR_BIT
from simulation.settings import Decision, RouterSettings, Times, Workload
from simulation.simulator import simulate
from simulation.tables.compiler import compile_tables
from topology.families.dragonflies.dragonfly import Dragonfly
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import parse_schedule
from traffic.workload.patterns import make_pattern

pytestmark = pytest.mark.usefixtures("compiled_kernels")

FAR = 10**9  # cycles of a period that never ends


def looped(routing, pattern, load, period, *, q=5, hosts=3, loop=None, faults="", window=6000, **settings):
    """Returns the result of a simulation with an adaptive loop, and the loop."""
    topology = PolarFly(q)
    plan = make_plan(topology, hosts, routing)
    routers = RouterSettings(**settings)
    tables = compile_tables(plan, candidates=True)
    loop = loop or BucketLoop(plan, tables, period, routers)
    interventions = [loop]
    if faults:
        schedule = parse_schedule(faults, topology)
        interventions.insert(0, SimulatedFaults(plan, schedule, 300, routers, loop=loop))
    result = simulate(
        tables,
        Workload(pattern=polarfly_pattern(q, hosts, pattern), load=load),
        routers,
        Decision(law="buckets", period=period),
        Times(warmup=4000, window=window, most_drain=4000),
        1,
        interventions=interventions,
    )
    return result, loop


def per_packet(law, routing, pattern, load, *, q=5, hosts=3, **settings):
    """Returns the result of a simulation whose sources decide for every packet."""
    return simulate(
        compile_tables(make_plan(PolarFly(q), hosts, routing)),
        Workload(pattern=polarfly_pattern(q, hosts, pattern), load=load),
        RouterSettings(**settings),
        Decision(law=law),
        Times(warmup=4000, window=6000, most_drain=4000),
        1,
    )


@pytest.mark.parametrize("routing", ["ugal", "ugal-pf"])
def test_every_bucket_is_minimal_until_the_first_step_that_moves_one(routing):
    found, loop = looped(routing, "uniform", 0.5, FAR)
    assert found.detoured == loop.moved == 0
    minimal = per_packet("minimal", routing, "uniform", 0.5)
    assert mean_hops(found) == pytest.approx(mean_hops(minimal), rel=0.01)


@pytest.mark.parametrize("flow_control", ["credit", "drop"])
def test_the_loop_accepts_more_than_minimal_paths_and_the_less_the_slower_it_is(flow_control):
    case = ("ugal-pf", "tornado", 0.4)
    accepted = [
        per_packet("minimal", *case, flow_control=flow_control).accepted,
        looped(*case, 2000, flow_control=flow_control)[0].accepted,
        looped(*case, 50, flow_control=flow_control)[0].accepted,
    ]
    assert accepted == sorted(accepted)
    assert accepted[2] > 1.3 * accepted[0]


def noted_adapters(monkeypatch):
    """Returns a list for the adapters of the next loops, each of which notes the occupancies it sees."""
    made = []

    class Noted(SwitchAdapter):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.seen = []
            made.append(self)

        def step(self, ports):
            self.seen.append(list(ports.values()))
            return super().step(ports)

    monkeypatch.setattr(bucket_loop, "SwitchAdapter", Noted)
    return made


@pytest.mark.parametrize("routing", ["ugal", "ugal-pf"])
def test_packets_take_the_candidates_that_buckets_point_at(routing, monkeypatch):
    topology, routers = PolarFly(3), RouterSettings()
    plan = make_plan(topology, 2, routing)
    tables = compile_tables(plan, candidates=True)
    adapters = noted_adapters(monkeypatch)
    loop = BucketLoop(plan, tables, 100, routers)
    workload = Workload(pattern=polarfly_pattern(3, 2, "uniform"), load=0.5)
    network = make_network(tables, workload, routers, Decision(law="buckets"), 1)
    for adapter in adapters:
        for group in adapter.groups:
            group.pointing = [bucket % len(group.ports) for bucket in range(len(group.pointing))]
    network = loop.replace_tables(network, plan, tables)
    checked = 0
    for use, (router, number) in enumerate(
        zip(tables.adaptive.routers.tolist(), tables.adaptive.groups.tolist(), strict=True)
    ):
        [group] = [one for one in plan.switches[router].groups if one.number == number]
        for bucket, choice in enumerate(network.buckets[use].tolist()):
            candidate = bucket % len(group.ports)
            assert bool(choice & DETOUR_BIT) == (candidate > 0)
            outcomes = slice(*tables.choices.starts[[choice & ~DETOUR_BIT, (choice & ~DETOUR_BIT) + 1]])
            ports = tables.choices.links[outcomes] - tables.link_starts[router] + 1
            assert {*ports.tolist()} == {*group.ports[candidate]}
            checked += 1
    assert checked >= 64 * 13


def test_flows_divide_evenly_among_buckets_and_stay(monkeypatch):
    class Halved(BucketLoop):
        def act(self, network):
            network = super().act(network)
            for adapter in adapters:
                for group in adapter.groups:
                    group.pointing = [int(bucket % 2 == 0) for bucket in range(len(group.pointing))]
            return self.replace_tables(network, plan, tables)

    plan, routers = make_plan(PolarFly(5), 3, "ugal-pf"), RouterSettings()
    tables, adapters = compile_tables(plan, candidates=True), noted_adapters(monkeypatch)
    loop = Halved(plan, tables, FAR, routers)  # which acts once
    found, _ = looped("ugal-pf", "uniform", 0.3, 100, loop=loop)
    # Neighbours on the same router need no path.
    assert found.detoured / found.delivered == pytest.approx(0.5, abs=0.02)


def test_buckets_of_dead_detours_are_skipped_and_all_is_counted():
    faults = "4500 fail link:s1-s10\n5000 fail switch:s4\n7000 restore link:s1-s10\n7500 restore switch:s4"
    found, loop = looped("ugal-pf", "perm2hop", 0.3, 100, q=3, hosts=2, faults=faults)
    assert found.offered == found.delivered + found.dropped
    assert 0 < found.dropped < 0.2 * found.offered
    assert loop.moved > 0
    assert found.detoured > 0


def test_occupancies_are_shares_of_a_queue_or_of_a_buffer(monkeypatch):
    adapters = noted_adapters(monkeypatch)
    plan = make_plan(PolarFly(3), 2, "ugal-pf")
    for flow_control in ("credit", "drop"):
        routers = RouterSettings(flow_control=flow_control)
        loop = BucketLoop(plan, compile_tables(plan, candidates=True), 200, routers)
        looped("ugal-pf", "tornado", 1.0, 200, q=3, hosts=2, loop=loop, flow_control=flow_control)
        readings = np.concatenate([share for adapter in adapters for share in adapter.seen])
        assert 0 <= readings.min() < 0.1
        assert 0.8 < readings.max() <= 1
        adapters.clear()


def test_a_full_queue_of_another_router_moves_buckets():
    topology, routers = Dragonfly(h=4, a=8, groups=9, trunking=4), RouterSettings()
    plan = make_plan(topology, 1, "four-color-adaptive")
    tables = compile_tables(plan, candidates=True)
    workload = Workload(pattern=make_pattern("uniform", topology, 1, 1), load=0.5)
    network = make_network(tables, workload, routers, Decision(law="buckets"), 1)
    group = next(one for one in plan.switches[8].groups if one.candidates)
    full = [tables.link_starts[router] + port - 1 for router, port in group.far_ports[0]]
    assert not set(group.far_ports[0]) & {(8, port) for port in range(99)}
    network.used[link_ports(tables)[full]] = routers.buffer_flits
    loop = BucketLoop(plan, tables, 100, routers)
    for _ in range(3):
        network = loop.act(network)
    uses = [
        use
        for use, key in enumerate(zip(tables.adaptive.routers, tables.adaptive.groups, strict=True))
        if key == (8, group.number)
    ]
    assert (network.buckets[uses] & DETOUR_BIT).any()

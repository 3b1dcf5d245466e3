"""Faults of a simulation: what is lost, what repairs it and when, and that every packet is accounted for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.builders.graphs import FABRICS, Drawn
from support.builders.simulated_networks import Watch, polarfly_pattern
from test_credit_kernel import check_conservation, decision_for

import simulation.faults
from routing.registry import make_plan
from simulation.arrays.network import make_network
from simulation.deadlock import stuck_queues
from simulation.faults import SimulatedFaults
from simulation.kernels import state as of
from simulation.kernels.credit import RUNNING, run
from simulation.settings import Decision, RouterSettings, Times, Workload
from simulation.simulator import simulate
from simulation.tables.check import check_against_walk
from simulation.tables.compiler import PlanCompiler, compile_tables
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import link_component, parse_schedule
from traffic.workload.patterns import Pattern

pytestmark = pytest.mark.usefixtures("compiled_kernels")

SWITCHES = {"flow_control": "drop", "router_cycles": 0, "link_cycles": 0, "host_link_cycles": 0}


def schedule(topology, *lines):
    return parse_schedule("\n".join(lines), topology)


def faulty(
    topology, pattern, *lines, routing="min", hosts=1, load=0.3, replan=500, repair=True, warmup=1000,
    window=3000, decision=None, **routers,
):  # fmt: skip
    """Returns the result of a simulation with faults, and their course."""
    plan = make_plan(topology, hosts, routing, local_repair=repair)
    chosen = RouterSettings(**routers)
    faults = SimulatedFaults(plan, schedule(topology, *lines), replan, chosen)
    result = simulate(
        compile_tables(plan),
        Workload(pattern=pattern, load=load),
        chosen,
        decision or Decision(),
        Times(warmup=warmup, window=window, most_drain=3000, period=100),
        1,
        interventions=[faults],
    )
    assert result.offered == result.delivered + result.dropped
    return result, faults.course()


def loads_of(topology, result, *elements):
    """Returns the flits that the links of elements passed, each direction by itself."""
    ends = {end for component in elements for link in topology.link_list for end in link.ends
            if f"link:s{link.a + 1}-s{link.b + 1}" == component}  # fmt: skip
    starts = topology.adjacency.starts
    return [int(result.link_flits[starts[router] + port - 1]) for router, port in sorted(ends)]


@settings(max_examples=12)
@given(
    fabric=st.sampled_from(["petersen", "a ring with one link twice", 2, 3]),
    routing=st.sampled_from(["min", "valiant", "ugal", "ugal-pf"]),
    component=st.sampled_from(["random-link", "random-switch", "random:4", "hang:s2"]),
    policy=st.sampled_from(["hop", "any", "random"]),
    flits=st.integers(1, 4),
    load=st.sampled_from([0.3, 1.0]),
    seed=st.integers(0, 1000),
)
def test_packets_and_credits_are_conserved_while_elements_fail(
    *, fabric, routing, component, policy, flits, load, seed
):
    topology = PolarFly(fabric) if isinstance(fabric, int) else FABRICS[fabric]()
    if routing == "ugal-pf" and not isinstance(fabric, int):
        routing = "ugal"
    plan = make_plan(topology, 2, routing)
    # So many channels that packets on repaired paths do not come to a deadlock either.
    channels = 12 if policy == "hop" else 3
    routers = RouterSettings(
        packet_flits=flits, buffer_flits=2 * flits, channel_policy=policy, channels=channels
    )
    workload = Workload(pattern=Pattern("uniform", topology.endpoints(2)), load=load)
    lines = (f"20 fail {component}", "25 fail random-link", f"45 restore {component}")
    faults = SimulatedFaults(plan, parse_schedule("\n".join(lines), topology, seed), 15, routers)
    tables = compile_tables(plan)
    network = make_network(tables, workload, routers, decision_for(routing), seed)
    watch = Watch(network, tables)
    for cycle in range(80):
        while faults.next_cycle == cycle:
            network = faults.act(network)
            check_conservation(network, watch)
        for tick in range(routers.ticks):
            assert run(network, cycle * routers.ticks + tick + 1, False) == RUNNING
            check_conservation(network, watch)
    assert len(faults.course().done) >= 3
    network.hosts[:, of.NEXT_GENERATED] = 1 << 50  # nothing is born any more
    run(network, 4000, False)
    if len(stuck_queues(network)):
        assert policy != "hop"
        return
    everywhere = np.where(watch.exists, watch.capacity, 0)
    assert network.counts[of.UNUSED] == len(network.packets)
    assert (network.queues[:, of.ROOM] == everywhere).all()
    assert not watch.credits_on_the_way().any()
    assert network.counts[of.ARRIVED] + network.counts[of.LOST] > 0


def test_a_link_that_failed_carries_nothing_until_it_is_restored():
    topology, pattern = PolarFly(3), polarfly_pattern(3, 1, "uniform")
    whole, _ = faulty(topology, pattern)
    broken, course = faulty(topology, pattern, "200 fail link:s1-s10")
    back, both = faulty(topology, pattern, "200 fail link:s1-s10", "400 restore link:s1-s10", replan=100)
    assert loads_of(topology, broken, "link:s1-s10") == [0, 0]
    assert broken.dropped == back.dropped == 0
    assert min(loads_of(topology, back, "link:s1-s10")) > 0.7 * min(loads_of(topology, whole, "link:s1-s10"))
    assert [(one.cycle, one.failed, one.cut_off_pairs) for one in course.plans] == [(700, "s1-s10", 0)]
    assert course.plans[0].rules > 0
    assert [(one.cycle, one.failed) for one in both.plans] == [(300, "s1-s10"), (500, "none")]
    assert [one.fault for one in both.done] == ["fail link:s1-s10", "restore link:s1-s10"]


@pytest.mark.parametrize("settings_of", [{}, SWITCHES])
def test_losses_end_with_the_repair_of_the_switches_or_with_the_controllers_plan(settings_of):
    topology, pattern = PolarFly(3), polarfly_pattern(3, 2, "uniform")
    lines, common = ["2000 fail link:s1-s10"], {"hosts": 2, "load": 0.5, **settings_of}
    repaired, by_switches = faulty(topology, pattern, *lines, replan=None, **common)
    replanned, by_controller = faulty(topology, pattern, *lines, replan=400, repair=False, **common)
    never, by_nobody = faulty(topology, pattern, *lines, replan=None, repair=False, **common)
    [switches], [controller], [nobody] = by_switches.done, by_controller.done, by_nobody.done
    assert switches.lost_packets < 20
    assert switches.last_loss_cycle is None or switches.last_loss_cycle < 2100
    assert switches.lost_packets < controller.lost_packets < nobody.lost_packets
    assert 2350 < controller.last_loss_cycle < 2450
    assert nobody.last_loss_cycle > 3900
    assert not by_switches.plans
    assert len(by_controller.plans) == 1
    assert repaired.dropped < replanned.dropped < never.dropped
    lost_in = np.flatnonzero(replanned.batch_drops)
    assert 10 <= lost_in.min() <= lost_in.max() <= 14


def noted_tables(monkeypatch):
    """Returns a list for the tables that faults make: of which plan, under which failure."""
    made = []

    class Noted(PlanCompiler):
        def __init__(self, plan, **options):
            super().__init__(plan, **options)
            self.plan = plan

        def tables(self, failure, *more):
            tables = super().tables(failure, *more)
            made.append((self.plan, failure, tables.without_routers(failure.failed_routers)))
            return tables

    monkeypatch.setattr(simulation.faults, "PlanCompiler", Noted)
    return made


def test_links_that_fail_in_one_cycle_fail_together(monkeypatch):
    topology, made = PolarFly(3), noted_tables(monkeypatch)
    links = [link_component(link) for link in topology.link_list[:4]]
    lines = [f"20 fail {link.name}" for link in links]
    plan, routers = make_plan(topology, 1, "min", local_repair=True), RouterSettings()
    faults = SimulatedFaults(plan, schedule(topology, *lines, f"20 restore {links[0].name}"), 5, routers)
    workload = Workload(pattern=polarfly_pattern(3, 1, "uniform"), load=0.5)
    network = make_network(compile_tables(plan), workload, routers, decision_for("min"), 1)
    while faults.next_cycle is not None:
        network = faults.act(network)
    assert [len(failure.failed_ends) // 2 for _, failure, _ in made] == [4, 3, 3]
    course = faults.course()
    assert [(one.cycle, one.fault) for one in course.done] == [
        *((20, f"fail {link.name}") for link in links),
        (20, f"restore {links[0].name}"),
    ]
    assert [one.cycle for one in course.plans] == [25]


def test_packets_of_a_dead_switchs_hosts_are_lost_and_counted():
    topology = PolarFly(3)
    pattern = Pattern("pairs", 13, partners=(5, -1, -1, 0, *[-1] * 9))
    result, course = faulty(topology, pattern, "2000 fail switch:s6", "3000 restore switch:s6", load=0.4)
    [gone, _back] = course.done
    # Host 0 sends to the dead switch's host for a thousand of the window's three thousand cycles.
    assert gone.lost_packets == pytest.approx(1000 * 0.4 / 4, rel=0.2)
    assert 2990 < gone.last_loss_cycle < 3020
    assert result.dropped == gone.lost_packets + course.done[1].lost_packets
    silent = Pattern("from it", 13, partners=(-1, -1, -1, -1, -1, 0, *[-1] * 7))
    result, course = faulty(topology, silent, "2000 fail switch:s6", load=0.4)
    assert result.dropped == pytest.approx(2000 * 0.4 / 4, rel=0.2)
    assert result.delivered == pytest.approx(1000 * 0.4 / 4, rel=0.3)


def test_neighbours_of_a_switch_that_hangs_notice_nothing_until_the_controller_does():
    # s3 sends to s7 by way of s5.
    pattern, gone = Pattern("across", 13, partners=(-1, -1, 6, *[-1] * 10)), {}
    for kind in ("switch", "hang"):
        _, course = faulty(PolarFly(3), pattern, f"2000 fail {kind}:s5", replan=600, load=0.5)
        gone[kind] = course.done[0]
        assert course.plans[0].failed == "s5"
    assert gone["switch"].lost_packets <= 3
    assert gone["hang"].lost_packets == pytest.approx(600 * 0.5 / 4, rel=0.25)
    assert 2580 < gone["hang"].last_loss_cycle < 2620


def test_heads_that_wait_for_a_link_that_breaks_take_another_way():
    # All hosts of router 0 send over its link to router 1: the buffers before it are full.
    topology = Drawn([(0, 1), (1, 2), (0, 2), (0, 3), (2, 3)])
    pattern = Pattern("one way", 16, partners=(*range(4, 8), *[-1] * 12))
    routers = {"hosts": 4, "load": 0.4, "warmup": 1500}
    result, course = faulty(topology, pattern, "1500 fail link:s1-s2", replan=None, **routers)
    assert loads_of(topology, result, "link:s1-s2") == [0, 0]
    assert 0 < course.done[0].lost_packets <= 6
    assert result.delivered > 0.99 * result.offered - 6


def test_packets_that_were_marked_before_a_restoration_arrive():
    # While nothing has failed no packet is marked, and tables know none.
    topology, pattern = PolarFly(3), polarfly_pattern(3, 2, "uniform")
    lines = [f"{time} {verb} link:s1-s10" for time, verb in ((1500, "fail"), (1600, "restore"))]
    long = {"link_cycles": 200, "buffer_flits": 512, "channels": 6}
    result, course = faulty(topology, pattern, *lines, hosts=2, replan=None, **long)
    _, never_back = faulty(topology, pattern, lines[0], hosts=2, replan=None, **long)
    assert course.done[1].lost_packets == 0
    assert result.dropped <= never_back.done[0].lost_packets
    assert not compile_tables(make_plan(topology, 2, "min")).marked.size


def test_packets_in_the_queue_of_a_link_that_breaks_are_lost_with_it():
    topology = Drawn([(0, 1), (1, 2), (0, 2)])
    pattern = Pattern("one way", 12, partners=(*range(4, 8), *[-1] * 8))
    result, course = faulty(
        topology, pattern, "2000 fail link:s1-s2", hosts=4, load=0.5, replan=None, window=1001, **SWITCHES
    )
    # The queue is full, of 32 packets, and it dropped what did not fit until then.
    assert 30 <= course.done[0].lost_packets <= 35
    link = topology.adjacency.starts[0] + topology.neighbours(0).tolist().index(1)
    assert np.flatnonzero(result.link_drops).tolist() == [link]
    assert result.link_drops[link] == pytest.approx(result.offered - 1000 / 4 + 32, abs=5)


def test_a_dead_controller_plans_nothing_and_a_new_one_plans_for_what_it_finds():
    topology, pattern = PolarFly(3), polarfly_pattern(3, 1, "uniform")
    lines = ["500 fail link:s1-s10", "600 fail controller", "1500 restore controller", "1700 fail link:s2-s3"]
    _, course = faulty(topology, pattern, *lines, replan=300)
    assert [(one.cycle, one.failed) for one in course.plans] == [(1800, "s1-s10"), (2000, "s1-s10, s2-s3")]


def test_a_drain_leads_packets_around_without_loss():
    topology, pattern = PolarFly(3), polarfly_pattern(3, 1, "uniform")
    result, course = faulty(topology, pattern, "100 drain link:s1-s10", replan=300)
    assert loads_of(topology, result, "link:s1-s10") == [0, 0]
    assert result.dropped == course.done[0].lost_packets == 0
    assert [(one.cycle, one.failed, one.drained) for one in course.plans] == [(400, "none", "s1-s10")]


@pytest.mark.parametrize("routing", ["min", "valiant", "compact-valiant", "ugal", "ugal-pf"])
def test_tables_after_every_step_are_those_of_the_walk(routing, monkeypatch):
    topology = PolarFly(3)
    plan = make_plan(topology, 1, routing)
    lines = ["1 fail link:s1-s10", "2 fail switch:s7", "9 restore link:s1-s10", "12 restore switch:s7"]
    seen = noted_tables(monkeypatch)
    routers = RouterSettings()
    faults = SimulatedFaults(plan, schedule(topology, *lines), 4, routers)
    workload = Workload(pattern=polarfly_pattern(3, 1, "uniform"), load=0.5)
    network = make_network(compile_tables(plan), workload, routers, decision_for(routing), 1)
    while faults.next_cycle is not None:
        network = faults.act(network)
    assert len(seen) == 8
    assert seen[-1][0] is plan
    for held, failure, tables in seen:
        check_against_walk(held, tables, failure=failure)
    # Packets that were marked before a restoration are still under way.
    assert all(tables.marked.size for _, _, tables in seen)

"""Applications: messages with dependencies, their times on idle paths, and what is conserved."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.builders import message_graphs
from support.builders.message_graphs import FLIT_BYTES, graph, sent
from support.builders.simulated_networks import digest
from support.fixtures.documents import ROOT

from simulation.settings import RouterSettings
from simulation.timing import unloaded_cycles
from topology.errors import ParameterError, Terminated
from topology.families.low_diameter.polarfly import PolarFly

pytestmark = pytest.mark.usefixtures("compiled_kernels")

ADJACENT = int(PolarFly(3).neighbours(0)[0])
APART = next(other for other in range(1, 13) if PolarFly(3).distances(0, other) == 2)


@pytest.mark.parametrize("end", [ADJACENT, APART])
@pytest.mark.parametrize("size", [0, 1, 128, 129, 5000])
@pytest.mark.parametrize("settings", [{}, {"packet_flits": 1, "link_cycles": 3}, {"speedup": 1}])
def test_a_message_on_an_idle_path_takes_its_ideal_time(end, size, settings):
    routers = RouterSettings(**settings)
    found = sent(graph([(0, end, size)]), iterations=2, **settings)
    packets = max(1, -(-size // (FLIT_BYTES * routers.packet_flits)))
    expected = unloaded_cycles(1 + (end == APART), routers) + (packets - 1) * routers.packet_flits
    assert [one.cycles for one in found.iterations] == [expected, expected]
    assert found.ideals[0].cycles == expected
    assert found.packets.delivered == found.packets.offered == 2 * packets


def test_a_chain_of_dependencies_and_computations_adds_up():
    chain = graph(
        [(0, APART, 512), (APART, 3, 512), (3, 3, 0), (3, 0, 256)],
        [(0, 1), (1, 2), (2, 3)],
        compute=[10, 7, 20_000, 0],  # the third is a computation, longer than the wheel
    )
    found = sent(chain)
    single = [
        sent(graph([(s, d, size)])).iterations[0].cycles
        for s, d, size in ((0, APART, 512), (APART, 3, 512), (3, 0, 256))
    ]
    first, second, last = single
    sums = np.cumsum([10 + first, 7 + second, 20_000, last])
    assert found.done.tolist() == sums.tolist()
    assert found.ideals[0].path_cycles == sums[-1]
    assert found.packets.deadlock is None
    assert found.iterations[0].host_cycles[[0, APART, 3]].tolist() == sums[[3, 0, 2]].tolist()


def test_a_message_waits_for_the_last_of_those_that_it_depends_on():
    both = graph([(0, APART, 64), (3, APART, 64_000), (APART, 2, 64)], [(0, 2), (1, 2)])
    early, late, after = sent(both).done.tolist()
    assert early < late
    assert after - late == sent(graph([(APART, 2, 64)])).iterations[0].cycles


def test_a_host_sends_what_is_ready_first_and_one_after_the_other():
    apart = graph([(0, APART, 6400), (0, APART, 64), (0, APART, 64)], begin=[50, 60, 0])
    first, second, early = sent(apart).done.tolist()
    alone = unloaded_cycles(2, RouterSettings())
    assert early == alone
    assert first == 50 + alone + 49 * 4
    assert second == first + 4


def test_messages_at_the_same_time_are_sent_in_their_order():
    done = sent(graph([(0, other, 1280) for other in (5, 2, 9, 7)])).done
    assert done.tolist() == sorted(done.tolist())


def test_the_busiest_host_link_bounds_the_ideal_and_all_packets_arrive():
    fan = graph([(source, 0, 12_800) for source in range(1, 13)])
    found = sent(fan)
    assert found.ideals[0].link_cycles == 12 * 100 * 4 == found.ideals[0].cycles
    assert found.iterations[0].cycles == pytest.approx(found.ideals[0].cycles, rel=0.01)
    assert found.packets.offered == found.packets.delivered == found.packets.accepted == 1200
    assert found.packets.host_packets.tolist() == [1200] + [0] * 12
    hops = found.packets.hops
    assert found.packets.link_flits.sum() == 4 * int(np.arange(len(hops)) @ hops)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_messages_arrive_once_after_what_they_wait_for(data):
    count = data.draw(st.integers(1, 25))
    hosts = st.integers(0, 25)
    messages = [
        (data.draw(hosts), data.draw(hosts), data.draw(st.sampled_from((0, 40, 400, 4000))))
        for _ in range(count)
    ]
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    waits = sorted({(min(p), max(p)) for p in data.draw(st.lists(pairs, max_size=40)) if p[0] != p[1]})
    compute = data.draw(st.lists(st.sampled_from((0, 1, 90, 5000)), min_size=count, max_size=count))
    drawn = graph(messages, waits, compute=compute)
    found = sent(drawn, hosts=2, routing=data.draw(st.sampled_from(("min", "valiant"))))
    least = found.ideals[0].message_cycles
    for before, after in waits:
        assert found.done[after] >= found.done[before] + compute[after] + least[after]
    packets = sum(max(1, -(-size // 128)) for source, end, size in messages if source != end)
    assert found.packets.offered == found.packets.delivered == packets
    assert found.iterations[0].cycles == found.done.max() >= found.ideals[0].cycles
    assert found.packets.deadlock is None


def test_messages_that_wait_in_a_circle_are_refused():
    with pytest.raises(ParameterError, match="cyclic"):
        sent(graph([(0, 1, 4), (1, 0, 4)], [(0, 1), (1, 0)]))


def test_queues_that_drop_are_refused():
    with pytest.raises(ParameterError, match="flow control credit"):
        sent(graph([(0, 1, 4)]), flow_control="drop")


def test_an_application_without_end_is_refused():
    with pytest.raises(ParameterError, match="at most 1,000,000,000 cycles"):
        sent(graph([(0, 0, 0)], compute=[600_000_000]), iterations=2)


def test_a_deadlock_ends_an_application_and_tells_what_has_arrived():
    ends = np.random.default_rng(1).integers(0, 26, (20_000, 2)).tolist()
    everyone = [(source, end, 64) for source, end in ends if source != end]
    found = sent(graph(everyone), hosts=2, channel_policy="any", channels=1, buffer_flits=4, iterations=3)
    assert found.packets.deadlock is not None
    assert len(found.iterations) < 3
    assert found.packets.delivered < found.packets.offered
    assert (found.done < 0).any()


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, Terminated])
def test_an_interrupted_application_keeps_what_was_measured(monkeypatch, interruption):
    def interrupt(cycles, _packets):
        if cycles >= 3000:
            raise interruption

    monkeypatch.setattr(message_graphs, "simulate_application", lambda *a: _simulate(*a, interrupt))
    found = sent(graph([(0, 1, 64_000), (1, 2, 1 << 20)], [(0, 1)]), iterations=2)
    assert found.packets.interrupted
    assert found.iterations == ()
    assert found.done[0] > 0 > found.done[1]
    waiting = 500 + (1 << 13) - found.packets.delivered
    assert found.packets.offered - found.packets.delivered == waiting


_simulate = message_graphs.simulate_application


def digests():
    """Returns digests of applications with and without adaptive routing."""
    found = {}
    for routing in ("min", "ugal-pf"):
        everyone = [(i, (i + k) % 7, 1000 * k) for k in range(1, 7) for i in range(7)]
        waits = [(k, k + 7) for k in range(35)]
        result = sent(
            graph(everyone, waits, compute=[k % 5 for k in range(42)]), q=2, routing=routing, iterations=2
        )
        found[routing] = [digest(result.packets), *result.done.tolist()]
    return found


def test_applications_give_the_same_numbers_without_compilation():
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "unit" / "simulation")])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": paths}
    program = "import json, test_applications; print(json.dumps(test_applications.digests()))"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == digests()

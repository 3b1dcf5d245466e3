"""Known queues and sources: births as the processes say, and waits as formulas of queueing theory."""

import numpy as np
import pytest
from support.builders.graphs import Drawn
from support.builders.simulated_networks import mean_latency, polarfly_pattern, polarfly_tables, simulated

from routing.registry import make_plan
from simulation.arrays.network import make_network
from simulation.kernels import state as of
from simulation.kernels.credit import run
from simulation.kernels.sources import TIME_BITS, draw_window
from simulation.settings import Decision, RouterSettings, Workload
from simulation.tables.compiler import compile_tables
from simulation.timing import unloaded_cycles
from traffic.workload.patterns import IDLE, Pattern

pytestmark = pytest.mark.usefixtures("compiled_kernels")

FLITS = 4
HOSTS = 400  # of the sources whose births are counted
CYCLES = 20_000


def source_network(load, arrivals, seed, flits=FLITS, hosts=HOSTS):
    """A network of two routers with many hosts, of which only the sources are used."""
    tables = compile_tables(make_plan(Drawn([(0, 1)]), hosts // 2, "min"))
    workload = Workload(pattern=Pattern("uniform", hosts), load=load, arrivals=arrivals)
    network = make_network(tables, workload, RouterSettings(packet_flits=flits), Decision(), seed)
    run(network, 0, False)  # draws the first births
    return network


def births_in(network, begin, end):
    """The number of packets born in some cycles, of a network that sends none."""
    network.counts[[of.WINDOW_BEGIN, of.WINDOW_END]] = begin, end
    return draw_window(network)


# The variance of the number of packets born in a cycle, given the mean.
VARIANCES = {
    "bernoulli": lambda rate: rate * (1 - rate),
    "poisson": lambda rate: rate,
    "constant": lambda _: 0,
}


@pytest.mark.parametrize("arrivals", VARIANCES)
@pytest.mark.parametrize(("load", "flits"), [(0.01, 4), (0.5, 4), (0.8, 4), (0.9, 4), (1.0, 4), (0.7, 1)])
def test_sources_offer_their_load(arrivals, load, flits):
    rate = load / flits
    born = births_in(source_network(load, arrivals, 11, flits), 0, CYCLES)
    mean = rate * HOSTS * CYCLES
    error = (VARIANCES[arrivals](rate) * HOSTS * CYCLES) ** 0.5
    assert abs(born - mean) <= 4 * error + HOSTS * (arrivals == "constant") / 2 + 1


@pytest.mark.parametrize("arrivals", VARIANCES)
@pytest.mark.parametrize("rate", [0.05, 0.225])
def test_births_in_a_cycle_have_their_distribution(arrivals, rate):
    network = source_network(rate * FLITS, arrivals, 5)
    counts = np.array([births_in(network, cycle, cycle + 1) for cycle in range(2000)])
    assert counts.mean() == pytest.approx(rate * HOSTS, rel=0.02)
    variance = VARIANCES[arrivals](rate) * HOSTS
    if arrivals == "constant":
        # As many in every cycle as phases allow, and the same again after 1 / rate cycles.
        period = round(1 / rate)
        if period * rate == 1:
            assert (counts[period:] == counts[:-period]).mean() > 0.99
        assert 0 < counts.var() < 2 * rate * HOSTS
    else:
        # The standard error of a variance of n values is sqrt(2 / n) of it.
        assert counts.var() == pytest.approx(variance, rel=4 * (2 / len(counts)) ** 0.5)
        correlation = np.corrcoef(counts[1:], counts[:-1])[0, 1]
        assert abs(correlation) < 4 / len(counts) ** 0.5


def test_gaps_of_bernoulli_sources_are_geometric():
    rate = 0.2
    network = source_network(rate * FLITS, "bernoulli", 8)
    gaps = []
    for _ in range(100):
        before = network.hosts[:, of.NEXT_GENERATED].copy()
        for host in range(0, HOSTS, 4):
            # One more birth of this host alone.
            network.hosts[:, of.KIND] = of.IDLE
            network.hosts[host, of.KIND] = of.UNIFORM
            births_in(network, 0, (before[host] >> TIME_BITS) + 1)
        gaps.append((network.hosts[::4, of.NEXT_GENERATED] - before[::4]) >> TIME_BITS)
    gaps = np.concatenate(gaps)
    deviation = (1 - rate) ** 0.5 / rate
    assert abs(gaps.mean() - 1 / rate) < 4 * deviation / len(gaps) ** 0.5
    assert gaps.std() == pytest.approx(deviation, rel=0.08)
    shares = np.bincount(gaps, minlength=8)[1:8] / len(gaps)
    assert np.abs(shares - rate * (1 - rate) ** np.arange(7)).max() < 4 * (rate / len(gaps)) ** 0.5


def test_constant_sources_have_random_phases():
    network = source_network(0.4, "constant", 3)
    phases = network.hosts[:, of.NEXT_GENERATED] / (10 << TIME_BITS)
    assert phases.min() >= 0
    assert phases.max() < 1
    assert abs(phases.mean() - 0.5) < 4 * (1 / 12 / HOSTS) ** 0.5
    assert phases.std() == pytest.approx(12**-0.5, rel=0.1)


def one_link(load, arrivals, flits, seed):
    """A run of one host that sends to one other over a single link between two routers."""
    tables = compile_tables(make_plan(Drawn([(0, 1)]), 1, "min"))
    pattern = Pattern("to the other", 2, partners=(1, IDLE))
    return simulated(
        tables,
        pattern,
        load,
        arrivals=arrivals,
        warmup=5000,
        window=200_000,
        seed=seed,
        packet_flits=flits,
        buffer_flits=8 * flits,
    )


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
@pytest.mark.parametrize("flits", [1, 4])
@pytest.mark.parametrize("arrivals", ["poisson", "bernoulli"])
def test_packets_wait_at_a_link_as_the_formula_says(arrivals, flits, load):
    # M/D/1, and the same queue in discrete time: one birth or none in a cycle saves the wait of one flit.
    service = flits if arrivals == "poisson" else flits - 1
    expected = load * service / (2 * (1 - load))
    unloaded = unloaded_cycles(1, RouterSettings(packet_flits=flits))
    waits = np.array([mean_latency(one_link(load, arrivals, flits, seed)) - unloaded for seed in range(6)])
    error = waits.std(ddof=1) / len(waits) ** 0.5
    assert abs(waits.mean() - expected) <= max(4 * error, 1e-9)
    assert abs(waits.mean() - expected) <= 0.05 * expected + 1e-9


def test_packets_of_many_hosts_wait_for_a_common_link():
    # 24 hosts of one router send over its only link: Poisson in all, but for what a host's own link spreads.
    hosts, load = 24, 0.7
    tables = compile_tables(make_plan(Drawn([(0, 1)]), hosts, "min"))
    partners = (*range(hosts, 2 * hosts), *[IDLE] * hosts)
    pattern = Pattern("over one link", 2 * hosts, partners=partners)
    runs = [
        simulated(
            tables,
            pattern,
            load / hosts,
            arrivals="poisson",
            warmup=3000,
            window=60_000,
            seed=seed,
            buffer_flits=256,
            speedup=4,
        )
        for seed in range(3)
    ]
    wait = np.mean([mean_latency(one) for one in runs]) - unloaded_cycles(1, RouterSettings())
    assert wait == pytest.approx(load * FLITS / (2 * (1 - load)), rel=0.1)


def test_hosts_receive_at_their_links_rate_at_most():
    tables = polarfly_tables(3, 1, "min")
    found = simulated(tables, polarfly_pattern(3, 1, "hotspot:hosts=1,share=1"), 0.9, window=4000)
    assert found.host_packets.max() == pytest.approx(4000 / FLITS, abs=2)

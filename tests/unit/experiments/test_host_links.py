"""Drops at the links between switches and hosts."""

from dataclasses import replace

from support.builders.records import SUMMARY

from controller.occupancy.queues import QueueState
from experiments.results.link_loads import LinkHistory
from experiments.results.parts.host_links import HostLinkSummary, host_link_rows, host_link_summary
from experiments.results.replications import combine
from topology.addressing import hosts_of
from topology.families.low_diameter.polarfly import PolarFly


def test_both_ends_of_every_link_to_a_host_are_counted():
    topology = PolarFly(2)
    hosts = [(host, topology.host_port(host.router, host.index)) for host in hosts_of(topology, 1)]
    port = hosts[4][1]
    rows = host_link_rows(hosts, {(4, port): (700_000, 487)}, {"h1_1": (900_000, 534)})
    assert len(rows) == 2 * len(hosts)
    found = {row.link: row for row in rows}
    assert (found["s5-h5_1"].port, found["s5-h5_1"].dropped_packets) == (port, 487)
    assert (found["h1_1-s1"].port, found["h1_1-s1"].tx_bytes) == (0, 900_000)
    assert host_link_summary(rows) == HostLinkSummary(1021, 487, 534)


def test_a_ports_totals_are_those_of_its_first_and_last_readings():
    history = LinkHistory()
    for time_s, sent, dropped in ((0.0, 100, 7), (1.0, 400, 9), (2.0, 900, 12)):
        history.note(5, time_s, {4: QueueState(0, 0, sent, dropped)})
    assert history.totals(5, 4) == (800, 5)
    assert history.totals(6, 4) == (0, 0)


def test_drops_of_replications_are_added():
    one, other = (replace(SUMMARY, seed=n, host_links=HostLinkSummary(3 * n, 2 * n, n)) for n in (1, 2))
    assert combine([one, other], 2).host_links == HostLinkSummary(9, 6, 3)

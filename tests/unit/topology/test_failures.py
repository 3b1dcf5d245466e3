"""Failures: the links and routers that single failures and fault elements take away."""

from support.builders.leaf_spine import LeafSpine

from topology.failures import NO_FAILURE, failure_of, link_failures, switch_failures
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import parse_components

GRAPH = PolarFly(3)


def test_nothing_fails_without_a_failure():
    assert not NO_FAILURE.any_failed
    assert failure_of(GRAPH, []) == failure_of(GRAPH, parse_components("controller", GRAPH, 1)) == NO_FAILURE


def test_every_link_fails_once_at_both_ends():
    failures = list(link_failures(GRAPH))
    assert [failure.failed_ends for failure in failures] == [set(link.ends) for link in GRAPH.link_list]
    assert all(failure.any_failed and not failure.failed_routers for failure in failures)
    link = GRAPH.link_list[0]
    assert failures[0].failed_ports(link.a) == {link.port_a}
    assert failures[0].failed_ports(link.b) == {link.port_b}
    assert failures[0].name == f"link s{link.a + 1}-s{link.b + 1}"


def test_every_switch_fails_with_its_links_whether_it_has_hosts_or_not():
    for graph in (GRAPH, LeafSpine()):
        for router, failure in enumerate(switch_failures(graph)):
            assert failure.failed_routers == {router}
            assert failure.failed_ports(router) == set(range(1, int(graph.degrees[router]) + 1))
            assert len(failure.failed_ends) == 2 * graph.degrees[router]
            assert failure.name == f"switch s{router + 1}"


def test_a_switch_that_hangs_has_failed_like_one_without_power():
    hung, dark = (failure_of(GRAPH, parse_components(f"{kind}:s4", GRAPH, 1)) for kind in ("hang", "switch"))
    assert (hung.failed_ends, hung.failed_routers) == (dark.failed_ends, dark.failed_routers)


def test_elements_fail_together():
    link = GRAPH.link_list[-1]
    text = f"switch:s1, link:s{link.a + 1}-s{link.b + 1}"
    failure = failure_of(GRAPH, parse_components(text, GRAPH, 1))
    assert failure.failed_routers == {0}
    assert failure.failed_ends > set(link.ends)
    assert failure.name == text

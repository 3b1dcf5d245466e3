"""Places of packet captures, by their names."""

import pytest
from support.builders.graphs import FABRICS

from emulation.capture import CapturePoint
from experiments.spec.captures import parse_captures
from topology.errors import ParameterError
from topology.families.low_diameter.polarfly import PolarFly


def test_hosts_ports_and_links_are_captured_each_once():
    topology = PolarFly(3)
    link = topology.link_list[0]
    name = f"link:s{link.a + 1}-s{link.b + 1}"
    points = parse_captures(["h1_1,s5-eth2", f"s5:2, {name}"], topology, 1)
    assert points[:2] == (
        CapturePoint("h1_1", "h1_1-eth0", "h1_1.pcap"),
        CapturePoint("s5", "s5-eth2", "s5-eth2.pcap"),
    )
    ends = {(f"s{router + 1}", f"s{router + 1}-eth{port}") for router, port in link.ends}
    assert {(point.node, point.interface) for point in points[2:]} == ends
    assert len(points) == 4
    assert parse_captures([], topology, 1) == ()


def test_a_switch_has_ports_to_its_neighbours_and_to_its_hosts():
    topology = PolarFly(3)
    last = len(topology.neighbours(4)) + 2
    assert parse_captures([f"s5:{last}"], topology, 2)[0].interface == f"s5-eth{last}"
    with pytest.raises(ParameterError, match=f"1 to {last}, got 's5:{last + 1}'"):
        parse_captures([f"s5:{last + 1}"], topology, 2)


def test_given_ports_are_those_that_can_be_captured():
    topology = FABRICS["two links and no more"]().with_ports([[8, 3], [1, 5]], [[1], [2]])
    assert parse_captures(["s1:8"], topology, 1)[0].interface == "s1-eth8"
    with pytest.raises(ParameterError, match="must be 1, 3, 8, got 's1:2'"):
        parse_captures(["s1:2"], topology, 1)


@pytest.mark.parametrize("text", ["h99_1", "s99:1", "link:s1-s1", "", "s5-eth0", "h1_1,,h2_1", "everything"])
def test_what_the_fabric_does_not_have_cannot_be_captured(text):
    with pytest.raises(ParameterError):
        parse_captures([text], PolarFly(3), 1)

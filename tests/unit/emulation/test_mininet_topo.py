"""Mininet's view of a fabric, where routers differ in their number of hosts."""

import pytest
from mininet.util import buildTopo
from support.builders.leaf_spine import LeafSpine
from support.fixtures.documents import ROOT

from emulation import requirements
from emulation.mininet_topo import FabricTopo
from emulation.network import NetworkSettings, launched
from topology.errors import MachineError
from topology.links import LinkSpec


def test_only_leaves_of_a_leaf_spine_have_hosts():
    topo = FabricTopo(LeafSpine(leaves=4, spines=2), 2)
    assert sorted(topo.switches()) == ["s1", "s2", "s3", "s4", "s5", "s6"]
    assert sorted(topo.hosts()) == [f"h{leaf}_{k}" for leaf in (1, 2, 3, 4) for k in (1, 2)]
    assert len(topo.links()) == 4 * 2 + 8
    assert topo.port("h3_2", "s3") == (0, 4)  # ports 1 and 2 lead to the spines


def test_memory_is_required_for_the_hosts_that_exist(monkeypatch):
    def refuse(routers, hosts, links):
        raise MachineError(f"{routers} routers, {hosts} hosts, {links} links")

    monkeypatch.setattr(requirements, "require_emulation", lambda: None)
    monkeypatch.setattr(requirements, "require_memory", refuse)
    settings = NetworkSettings(LeafSpine(leaves=4, spines=2), 3, LinkSpec(1_000_000, 32), "user")
    with pytest.raises(MachineError, match=r"^6 routers, 12 hosts, 8 links$"), launched(settings):
        raise AssertionError("never launched")


def test_a_fabric_that_does_not_fit_is_refused_with_the_memory_that_it_would_need(monkeypatch):
    monkeypatch.setattr(requirements, "available_memory_bytes", lambda: 2 << 30)
    with pytest.raises(MachineError, match=r"^993 switches .* 993 hosts .* 2\d\.\d GiB .* 2\.0 GiB"):
        requirements.require_memory(993, 993, 15_872)
    requirements.require_memory(57, 57, 228)


def test_pages_of_switches_are_merged_where_a_fabric_takes_much_of_the_memory(monkeypatch):
    monkeypatch.setattr(requirements, "available_memory_bytes", lambda: 16 << 30)
    assert not requirements.merging_pays(57, 57, 228)
    assert requirements.merging_pays(553, 553, 6_624)


def test_mn_makes_a_fabric_from_the_file_and_words():
    """As `mn --custom emulation/mininet_topo.py --topo polarfly,3,hosts=2` does."""
    customs = {}
    file = ROOT / "emulation" / "mininet_topo.py"
    exec(compile(file.read_text(), str(file), "exec"), customs, customs)
    topo = buildTopo(customs["topos"], "polarfly,3,hosts=2")
    assert (len(topo.switches()), len(topo.hosts()), len(topo.links())) == (13, 26, 24 + 26)
    assert len(buildTopo(customs["topos"], "polarstar,q=2,degree=3").switches()) == 56

"""Fault injection: the interfaces that go down, and those that stay down after a switch returns."""

from types import SimpleNamespace

import pytest

from emulation.fault_injection import FaultInjector
from emulation.subprocesses import CommandError
from topology.addressing import hosts_of, interface_name, switch_name
from topology.errors import UsageError
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import CONTROLLER, Component, ComponentKind, host_link, link_component

TOPOLOGY = PolarFly(2)


class Switch:
    """A stand-in for a switch: the program that runs or not, and its ports."""

    def __init__(self, router):
        numbers = range(1, TOPOLOGY.host_port(router, 0) + 1)
        ports = tuple((interface_name(router, number), number) for number in numbers)
        self.settings = SimpleNamespace(ports=ports)
        self.runs = True

    def kill_daemon(self):
        self.runs = False

    def restart(self):
        self.runs = True


class Network:
    """A stand-in for a network: its switches, and the interfaces that are down."""

    def __init__(self):
        self.settings = SimpleNamespace(topology=TOPOLOGY)
        self.switches = {switch_name(r): SimpleNamespace(vswitch=Switch(r)) for r in range(TOPOLOGY.routers)}
        self.down = set()
        self.deleted = set()  # interfaces that do not exist any more

    def __getitem__(self, name):
        return self.switches[name]

    def set_interfaces(self, router, names, state):
        assert all(name.startswith(f"{switch_name(router)}-") for name in names)
        (self.down.update if state == "down" else self.down.difference_update)(names)
        if missing := self.deleted.intersection(names):
            raise CommandError("ip failed", f"cannot find {', '.join(missing)}")


@pytest.fixture
def network():
    return Network()


@pytest.fixture
def faults(network):
    return FaultInjector(network)


LINK = TOPOLOGY.link_list[0]
LOWER, UPPER = LINK.ends


def test_a_link_fails_at_its_lower_router(network, faults):
    faults.fail(link_component(LINK))
    faults.fail(link_component(LINK))
    assert network.down == {interface_name(*LOWER)}
    faults.restore(link_component(LINK))
    assert network.down == set()


def test_a_link_of_a_failed_switch_fails_at_that_switch(network, faults):
    faults.fail(Component(ComponentKind.HANG, (UPPER[0],)))
    faults.fail(link_component(LINK))
    assert network.down == {interface_name(*UPPER)}


def test_a_switch_without_power_has_no_program_and_no_carrier(network, faults):
    component = Component(ComponentKind.SWITCH, (2,))
    faults.fail(component)
    switch = network["s3"].vswitch
    assert not switch.runs
    assert network.down == {name for name, _ in switch.settings.ports}
    faults.restore(component)
    assert switch.runs
    assert network.down == set()


def test_a_failed_link_stays_down_when_its_switch_returns(network, faults):
    faults.fail(link_component(LINK))
    component = Component(ComponentKind.SWITCH, (LOWER[0],))
    faults.fail(component)
    faults.restore(component)
    assert network.down == {interface_name(*LOWER)}


def test_a_restored_link_stays_down_while_its_switch_has_no_power(network, faults):
    faults.fail(link_component(LINK))
    component = Component(ComponentKind.SWITCH, (LOWER[0],))
    faults.fail(component)
    faults.restore(link_component(LINK))
    assert interface_name(*LOWER) in network.down
    faults.restore(component)
    assert network.down == set()


def test_a_switch_that_hangs_and_has_no_power_starts_once_both_are_over(network, faults):
    hang, power = Component(ComponentKind.HANG, (2,)), Component(ComponentKind.SWITCH, (2,))
    faults.fail(hang)
    faults.fail(power)
    faults.restore(power)
    assert not network["s3"].vswitch.runs
    faults.restore(hang)
    assert network["s3"].vswitch.runs


def test_everything_is_restored(network, faults):
    for component in (
        Component(ComponentKind.SWITCH, (1,)),
        Component(ComponentKind.HANG, (2,)),
        link_component(LINK),
    ):
        faults.fail(component)
    faults.restore_all()
    assert network.down == set()
    assert all(switch.vswitch.runs for switch in network.switches.values())


def test_what_cannot_be_restored_is_named_and_the_rest_is_restored(network, faults):
    host = hosts_of(TOPOLOGY, 1)[2]
    power = Component(ComponentKind.SWITCH, (host.router,))
    for component in (power, host_link(host), Component(ComponentKind.SWITCH, (5,)), link_component(LINK)):
        faults.fail(component)
    network.deleted.add(interface_name(host.router, TOPOLOGY.host_port(host.router, host.index)))
    with pytest.raises(CommandError, match=host_link(host).name) as raised:
        faults.restore_all()
    assert "s6" not in str(raised.value)
    assert network.down - network.deleted == set()
    assert all(switch.vswitch.runs for switch in network.switches.values())
    assert faults.active_failures == ()


def test_what_was_not_restored_is_named_if_the_rest_may_not_be_restored(network, faults):
    """As when another thread closes the fabric."""
    for router in (1, 2):
        faults.fail(Component(ComponentKind.SWITCH, (router,)))
    network.deleted.add(interface_name(1, 1))
    calls = iter([None])

    def closed_after_the_first():
        if next(calls, "closed"):
            raise UsageError("closed")

    with pytest.raises(CommandError, match="switch:s2") as raised:
        faults.restore_all(closed_after_the_first)
    assert isinstance(raised.value.__cause__, UsageError)
    assert faults.active_failures == (Component(ComponentKind.SWITCH, (2,)),)


def test_the_controller_is_not_an_element_of_the_network(faults):
    for act in (faults.fail, faults.restore):
        with pytest.raises(ValueError, match="controller"):
            act(CONTROLLER)


def test_the_link_of_a_host_fails_at_its_switch_and_stays_failed_when_the_switch_returns(network, faults):
    host = hosts_of(TOPOLOGY, 1)[2]
    end = interface_name(host.router, TOPOLOGY.host_port(host.router, host.index))
    component, power = host_link(host), Component(ComponentKind.SWITCH, (host.router,))
    for fault in (component, power):
        faults.fail(fault)
    faults.restore(power)
    assert network.down == {end}
    assert faults.active_failures == (component,)
    faults.fail(power)
    faults.restore(component)
    assert end in network.down
    faults.fail(component)
    faults.restore_all()
    assert network.down == set()
    assert faults.active_failures == ()

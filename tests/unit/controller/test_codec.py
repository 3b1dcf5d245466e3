"""The OpenFlow codec, read back with the framework's own parser."""

import subprocess
import sys
import warnings
from types import SimpleNamespace

import pytest

from controller.openflow.commands import (
    AskGroups,
    AskPortStatistics,
    AskRules,
    Barrier,
    DropRules,
    Message,
    PutGroup,
    PutRule,
    SetPortState,
)
from controller.openflow.frameworks import load
from routing.registry import make_plan
from topology.families.low_diameter.polarfly import PolarFly

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Ryu's flags use a deprecated class for versions
    protocol, parser = load("ofproto.ofproto_v1_3"), load("ofproto.ofproto_v1_3_parser")
    header = load("ofproto.ofproto_parser").header
    ProtocolDesc = load("ofproto.ofproto_protocol").ProtocolDesc

    from controller.openflow.codec import (
        OPENFLOW_VERSION,
        described_groups,
        encode,
        fingerprint,
        port_is_set_down,
        port_is_up,
    )

PLAN = make_plan(PolarFly(3), 1, "ugal-pf")
PORTS = {5: SimpleNamespace(hw_addr="02:00:00:00:00:05")}


def headers(encoded):
    """Returns (type, transaction id) of each message in a piece of bytes."""
    found, position = [], 0
    while position < len(encoded):
        version, kind, length, xid = header(encoded[position:])
        assert version == OPENFLOW_VERSION
        found.append((kind, xid))
        position += length
    assert position == len(encoded)
    return found


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (AskGroups(), protocol.OFPT_MULTIPART_REQUEST),
        (AskRules(), protocol.OFPT_MULTIPART_REQUEST),
        (AskPortStatistics(), protocol.OFPT_MULTIPART_REQUEST),
        (PutGroup(PLAN.switches[0].groups[0], exists=False), protocol.OFPT_GROUP_MOD),
        (PutRule(PLAN.switches[0].rules[0], 7), protocol.OFPT_FLOW_MOD),
        (DropRules(7), protocol.OFPT_FLOW_MOD),
        (SetPortState(5, down=True), protocol.OFPT_PORT_MOD),
        (Barrier(), protocol.OFPT_BARRIER_REQUEST),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_command_becomes_one_message_with_its_transaction_id(command, kind):
    assert headers(encode([Message(77, command)], PORTS)) == [(kind, 77)]


def test_a_port_is_set_down_under_its_own_address_and_up_again():
    configs = []
    for down in (True, False):
        encoded = encode([Message(1, SetPortState(5, down))], PORTS)
        sent = parser.OFPPortMod(ProtocolDesc(OPENFLOW_VERSION), 5, "02:00:00:00:00:05", 0, 0, 0)
        sent.config, sent.mask = protocol.OFPPC_PORT_DOWN if down else 0, protocol.OFPPC_PORT_DOWN
        sent.set_xid(1)
        sent.serialize()
        assert encoded == bytes(sent.buf)
        configs.append(sent.config)
    assert configs[0] != configs[1]


def group_as_described(switch_group):
    """Returns a group as the parser gives it from a switch's description, read back from its own message."""
    encoded = encode([Message(1, PutGroup(switch_group, exists=False))], {})
    buckets, position = [], protocol.OFP_GROUP_MOD_SIZE
    while position < len(encoded):
        buckets.append(parser.OFPBucket.parser(encoded, position))
        position += buckets[-1].len
    kind = encoded[10]
    return SimpleNamespace(group_id=switch_group.number, type=kind, buckets=buckets)


def test_a_group_has_the_same_fingerprint_when_a_switch_describes_it():
    groups = PLAN.switches[0].groups
    described = described_groups(SimpleNamespace(body=[group_as_described(group) for group in groups]))
    assert described == {group.number: fingerprint(group) for group in groups}


def test_the_rules_and_the_groups_of_a_switch_differ_in_their_fingerprints():
    for switch in PLAN.switches:
        assert len({fingerprint(rule) for rule in switch.rules}) == len(switch.rules)
    assert all(fingerprint(rule) < 1 << 48 for rule in PLAN.switches[0].rules)
    assert all(fingerprint(group) < 1 << 32 for group in PLAN.switches[0].groups)


@pytest.mark.parametrize(
    ("state", "config", "up", "set_down"),
    [
        (0, 0, True, False),
        (protocol.OFPPS_LINK_DOWN, 0, False, False),
        (protocol.OFPPS_LINK_DOWN, protocol.OFPPC_PORT_DOWN, False, True),
        (0, protocol.OFPPC_PORT_DOWN, False, True),
    ],
)
def test_a_port_is_up_if_neither_its_link_nor_an_administrator_has_it_down(state, config, up, set_down):
    port = SimpleNamespace(state=state, config=config)
    assert (port_is_up(port), port_is_set_down(port)) == (up, set_down)


def test_the_codec_is_imported_without_the_event_loop():
    code = "import controller.openflow.codec, sys; sys.exit('eventlet' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0

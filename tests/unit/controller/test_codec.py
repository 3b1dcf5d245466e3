"""The OpenFlow codec, read back with the framework's own parser."""

import struct
import subprocess
import sys
import warnings
from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.builders.openflow_messages import message, multipart, samples
from support.fixtures.fake_switch import FakeSwitch

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
from controller.openflow.door import MalformedMessage
from controller.openflow.frameworks import load
from routing.algorithms.valiant import INTERMEDIATES
from routing.plan.model import GroupKind
from routing.registry import make_plan
from topology.families.low_diameter.polarfly import PolarFly

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Ryu's flags use a deprecated class for versions
    protocol, parser = load("ofproto.ofproto_v1_3"), load("ofproto.ofproto_v1_3_parser")
    header = load("ofproto.ofproto_parser").header
    ProtocolDesc = load("ofproto.ofproto_protocol").ProtocolDesc

    from controller.openflow import codec
    from controller.openflow.codec import (
        OPENFLOW_VERSIONS,
        decode,
        described_groups,
        encode,
        error_text,
        fingerprint,
        port_is_set_down,
        port_is_up,
    )
    from controller.openflow.dialects import OPENFLOW_13, OPENFLOW_15

PLAN = make_plan(PolarFly(3), 1, "ugal-pf")
PORTS = {5: SimpleNamespace(hw_addr="02:00:00:00:00:05")}


def headers(encoded, spoken):
    """Returns (type, transaction id) of each message in a piece of bytes, all of one version."""
    found, position = [], 0
    while position < len(encoded):
        version, kind, length, xid = header(encoded[position:])
        assert version == spoken
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
@pytest.mark.parametrize("dialect", [OPENFLOW_13, OPENFLOW_15], ids=lambda dialect: dialect.version)
def test_a_command_becomes_one_message_with_its_transaction_id(command, kind, dialect):
    encoded = encode([Message(77, command)], PORTS, dialect.version, 1)
    assert headers(encoded, dialect.version) == [(kind, 77)]


def test_a_port_is_set_down_under_its_own_address_and_up_again():
    configs = []
    for down in (True, False):
        encoded = encode([Message(1, SetPortState(5, down))], PORTS)
        sent = parser.OFPPortMod(ProtocolDesc(OPENFLOW_13.version), 5, "02:00:00:00:00:05", 0, 0, 0)
        sent.config, sent.mask = protocol.OFPPC_PORT_DOWN if down else 0, protocol.OFPPC_PORT_DOWN
        sent.set_xid(1)
        sent.serialize()
        assert encoded == bytes(sent.buf)
        configs.append(sent.config)
    assert configs[0] != configs[1]


def test_a_group_has_the_same_fingerprint_when_a_switch_describes_it():
    body = []
    for group in PLAN.switches[0].groups:
        sent = encode([Message(1, PutGroup(group, exists=False))], {})
        described = struct.pack("!HBxI", len(sent) - 8, sent[10], group.number) + sent[16:]
        body.append(OPENFLOW_13.parser.OFPGroupDescStats.parser(bytes(7) + described, 7))
        assert body[-1].length == len(described)
    described = described_groups(SimpleNamespace(body=body))
    assert described == {group.number: fingerprint(group) for group in PLAN.switches[0].groups}


def group_message(group, datapath_id):
    return encode([Message(1, PutGroup(group, exists=False))], {}, OPENFLOW_15.version, datapath_id)


def test_a_group_has_that_fingerprint_in_the_later_version_too():
    body = []
    for group in PLAN.switches[0].groups:
        sent = group_message(group, 9)
        array = int.from_bytes(sent[16:18])
        # As a switch describes it: without the bucket that a command is about, and with properties behind.
        described = struct.pack("!HBxIH6x", 16 + len(sent) - 24, sent[10], group.number, array) + sent[24:]
        body.append(OPENFLOW_15.parser.OFPGroupDescStats.parser(bytes(7) + described, 7))
        assert body[-1].length == len(described)
    expected = {group.number: fingerprint(group) for group in PLAN.switches[0].groups}
    assert described_groups(SimpleNamespace(body=body)) == expected


def test_each_switch_hashes_packets_with_a_number_of_its_own():
    select = next(group for group in PLAN.switches[0].groups if group.kind is GroupKind.SELECT)
    failover = next(group for group in PLAN.switches[0].groups if group.kind is GroupKind.FAST_FAILOVER)
    seeds = {group_message(select, number)[-4:] for number in range(1, 1000)}
    assert len(seeds) == 999
    assert b"dp_hash" in group_message(select, 1)
    assert group_message(failover, 1) == group_message(failover, 2)
    changed = encode([Message(1, PutGroup(select, exists=True))], {}, OPENFLOW_15.version, 5)
    assert changed[-4:] == group_message(select, 5)[-4:]  # a changed group keeps its number


@pytest.mark.parametrize("routing", ["ugal-pf", "ugal", "valiant"])
def test_the_actions_of_buckets_have_the_same_bytes_in_both_versions(routing):
    for switch in make_plan(PolarFly(3), 1, routing).switches:
        for group in switch.groups:
            for bucket in group.buckets:
                earlier, later = (d.bucket(group.kind, bucket) for d in (OPENFLOW_13, OPENFLOW_15))
                assert earlier.encoded() == later.encoded()


def test_the_most_intermediate_routers_fit_into_a_message():
    """The length of a message is a number of 16 bits. A plan with so many would take seconds."""
    most = INTERMEDIATES.most
    few = max(make_plan(PolarFly(5), 1, "valiant").switches[0].groups, key=lambda one: len(one.buckets))
    assert len(few.buckets) == PolarFly(5).routers - 1
    group = replace(few, buckets=(few.buckets * most)[:most])
    for version in OPENFLOW_VERSIONS:
        message = encode([Message(1, PutGroup(group, exists=False))], {}, version, 1)
        assert struct.unpack_from("!BBH", message)[2] == len(message)


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


def test_an_experimenters_error_is_named_by_its_own_type():
    common = {"version": 4, "type": protocol.OFPET_EXPERIMENTER, "code": None}
    message = SimpleNamespace(**common, experimenter=0x2320, exp_type=7)
    assert error_text(message).endswith("0x2320, type 7")


# ---- the switches' messages ----


@pytest.fixture
def failing_parser(monkeypatch):
    """Makes the parser of ports raise an exception."""

    def fail(error):
        def parse(_message, _place):
            raise error

        monkeypatch.setattr(OPENFLOW_15.parser.OFPPort, "parser", parse)

    return fail


def port_description():
    return next(one for one in samples(6) if one[:2] == b"\6\x13" and one[8:10] == b"\0\x0d")


def test_a_message_that_the_parsers_refuse_is_malformed(failing_parser):
    assert decode(port_description()).body
    failing_parser(struct.error("broken on purpose"))
    with pytest.raises(MalformedMessage, match="broken on purpose"):
        decode(port_description())


@pytest.mark.parametrize("version", OPENFLOW_VERSIONS)
def test_ports_and_their_changes_are_read_the_same_in_both_versions(version):
    switch = FakeSwitch("", 1, 3, version)
    switch.ports_down, switch.links_down = {2}, {3}
    described = [switch.port(number) for number in (1, 2, 3)]
    ports = list(decode(multipart(version, 13, b"".join(described))).body)
    ports += [decode(message(version, 12, bytes(8) + port)).desc for port in described]
    read = [(port.port_no, port.hw_addr, port_is_up(port), port_is_set_down(port)) for port in ports]
    assert read[:3] == [
        (1, "02:00:00:00:01:01", True, False),
        (2, "02:00:00:00:01:02", False, True),
        (3, "02:00:00:00:01:03", False, False),
    ]
    assert read[3:] == read[:3]


def test_ctrl_c_in_a_parser_is_not_swallowed(failing_parser):
    failing_parser(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        decode(port_description())


# ---- memory ----


def test_no_cache_of_encoded_rules_grows_without_a_limit():
    """A controller that replans for months encodes any number of rules."""
    held = [*vars(codec).values(), *vars(OPENFLOW_13).values(), *vars(OPENFLOW_15).values()]
    caches = [one for one in held if hasattr(one, "cache_info")]
    assert len(caches) > 6
    assert all(one.cache_info().maxsize is not None for one in caches)

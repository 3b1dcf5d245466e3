"""The OpenFlow versions that the controller speaks: 1.3, and 1.5 with switches that support it.

By default, all Open vSwitch switches hash the packets of a select group identically. A neighbour then repeats
the choice of the switch that packets come from: it sends all of them on through the same port (hash
polarisation). With OpenFlow 1.5 the controller gives each switch its own hash basis. Both versions are
otherwise equivalent; OpenFlow 1.5 has standard actions where 1.3 needs Nicira's extensions.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from controller.openflow import descriptions
from controller.openflow.bucket_slots import buckets_in_slots
from controller.openflow.commands import (
    AskGroups,
    AskPortStatistics,
    AskRules,
    Barrier,
    Command,
    DropRules,
    SetPortState,
)
from controller.openflow.descriptions import ANY, BUCKET_15, WATCH_15, WATCH_PORT, WEIGHT, Bucket
from controller.openflow.frameworks import load
from routing.plan import model as plan
from topology.addressing import format_ip, format_mac

_NICIRA = load("ofproto.nicira_ext")
_DESCRIPTION = load("ofproto.ofproto_protocol").ProtocolDesc

_WEIGHT_15 = struct.Struct("!HHH2x")  # type and length of the property, weight
# Netronome's selection method, a property of a select group: type, length, experimenter, its type, method,
# parameter.
_SELECTION_15 = struct.Struct("!HHII4x16sQ")
_NETRONOME, _SELECTION_METHOD = 0x154D, 1
# The datapath's own hash of addresses and ports, which Open vSwitch also uses without this property.
_METHOD, _SYMMETRIC_L4 = b"dp_hash", 1
MAX_KNOWN = 1 << 20  # entries of a cache of rules or their components; many plans would fill any memory
_SPREAD = 0x9E3779B1  # odd, so that its products with different datapath ids differ modulo 2^32


class Dialect:
    """A version of OpenFlow and its messages; the framework encodes all except groups.

    Attributes:
        version: its number in messages.
        protocol, parser: the framework's modules.
        description: stands for a datapath in the constructors of the framework's messages.

    The framework's parsers of rules, groups and ports are replaced by those of
    `controller.openflow.descriptions`.
    """

    def __init__(self, name: str) -> None:
        """Loads the framework's modules of a version, such as `v1_3`."""
        self.protocol = load(f"ofproto.ofproto_{name}")
        self.parser = load(f"ofproto.ofproto_{name}_parser")
        self.version: int = self.protocol.OFP_VERSION
        self.description = _DESCRIPTION(self.version)
        self.group_types = {
            plan.GroupKind.INDIRECT: self.protocol.OFPGT_INDIRECT,
            plan.GroupKind.SELECT: self.protocol.OFPGT_SELECT,
            plan.GroupKind.FAST_FAILOVER: self.protocol.OFPGT_FF,
        }
        # Cached: the switches of a fabric share most of their matches, instructions and buckets.
        self.match = lru_cache(MAX_KNOWN)(self._match)
        self.instructions = lru_cache(MAX_KNOWN)(self._instructions)
        self.bucket = lru_cache(MAX_KNOWN)(self._bucket)

    def request(self, command: Command, ports: Mapping[int, Any]) -> Any:
        """Returns the framework's message for a command; PutRule and PutGroup are encoded separately."""
        parser, protocol = self.parser, self.protocol
        match command:
            case AskGroups():
                return parser.OFPGroupDescStatsRequest(self.description)
            case AskRules():
                return self._rules_request()
            case AskPortStatistics():
                return parser.OFPPortStatsRequest(self.description, 0, protocol.OFPP_ANY)
            case Barrier():
                return parser.OFPBarrierRequest(self.description)
            case DropRules(cookie, mask):
                return parser.OFPFlowMod(
                    self.description,
                    cookie=cookie,
                    cookie_mask=mask,
                    table_id=protocol.OFPTT_ALL,
                    command=protocol.OFPFC_DELETE,
                    out_port=protocol.OFPP_ANY,
                    out_group=protocol.OFPG_ANY,
                )
            case SetPortState(port, down):
                return parser.OFPPortMod(
                    self.description,
                    port_no=port,
                    hw_addr=ports[port].hw_addr,
                    config=protocol.OFPPC_PORT_DOWN if down else 0,
                    mask=protocol.OFPPC_PORT_DOWN,
                )

    def rule(self, rule: plan.Rule) -> bytes:
        """Returns the message that adds a rule, with transaction id 0 and cookie 0."""
        message = self.parser.OFPFlowMod(
            self.description,
            table_id=rule.table,
            priority=rule.priority,
            match=self.match(rule.match),
            instructions=self.instructions(rule.actions, rule.goto),
        )
        message.set_xid(0)
        message.serialize()
        return bytes(message.buf)

    def group_body(self, group: plan.Group, command: int, datapath_id: int) -> bytes:
        """Returns the message that adds or changes a group, without its header."""
        raise NotImplementedError

    def _rules_request(self) -> Any:
        raise NotImplementedError

    def _own_action(self, action: plan.Action) -> Any:
        """Returns the framework's action for an action that the two OpenFlow versions encode differently."""
        raise NotImplementedError

    def _bucket(self, kind: plan.GroupKind, bucket: plan.Bucket) -> Bucket:
        encoded = bytearray()
        for action in self._actions(bucket.actions):
            action.serialize(encoded, len(encoded))
        weight = bucket.weight if kind is plan.GroupKind.SELECT else 0
        port = self.protocol.OFPP_ANY if bucket.watch_port is None else bucket.watch_port
        return Bucket(weight, port, self.protocol.OFPG_ANY, bytes(encoded))

    def _match(self, fields: plan.Match) -> Any:
        values = {field.field: _field_value(field.field, field.value, field.mask) for field in fields}
        return self.parser.OFPMatch(**values)

    def _instructions(self, actions: plan.Actions, goto: plan.Table | None) -> list[Any]:
        instructions = []
        if actions:
            apply = self.protocol.OFPIT_APPLY_ACTIONS
            instructions.append(self.parser.OFPInstructionActions(apply, self._actions(actions)))
        if goto is not None:
            instructions.append(self.parser.OFPInstructionGotoTable(goto))
        return instructions

    def _actions(self, actions: plan.Actions) -> list[Any]:
        return [self._action(action) for action in actions]

    def _action(self, action: plan.Action) -> Any:
        match action:
            case plan.Output(port):
                return self.parser.OFPActionOutput(port)
            case plan.ToGroup(group):
                return self.parser.OFPActionGroup(group)
            case plan.SetField("in_port", _) | plan.CopyBits() | plan.LoadBits():
                return self._own_action(action)
            case plan.SetField(field, value):
                return self.parser.OFPActionSetField(**{field: _field_value(field, value, None)})
            case plan.PushVlan():
                return self.parser.OFPActionPushVlan()
            case plan.PopVlan():
                return self.parser.OFPActionPopVlan()
            case plan.DecrementTtl():
                return self.parser.OFPActionDecNwTtl()


class _OpenFlow13(Dialect):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.parser.OFPGroupDescStats.parser = descriptions.group_13
        self.parser.OFPFlowStats.parser = descriptions.rule_13
        self.parser.OFPPort.parser = descriptions.port_13

    def group_body(self, group: plan.Group, command: int, _datapath_id: int) -> bytes:
        buckets = b"".join(self.bucket(group.kind, bucket).encoded() for bucket in buckets_in_slots(group))
        return struct.pack("!HBxI", command, self.group_types[group.kind], group.number) + buckets

    def _rules_request(self) -> Any:
        return self.parser.OFPFlowStatsRequest(self.description)

    def _own_action(self, action: plan.Action) -> Any:
        match action:
            case plan.SetField("in_port", value):
                # OpenFlow's set-field action may not write the ingress port; Nicira's register load may.
                window = _NICIRA.ofs_nbits(0, 31)
                return self.parser.NXActionRegLoad(ofs_nbits=window, dst="in_port", value=value)
            case plan.CopyBits(source, target, bits):
                return self.parser.NXActionRegMove(src_field=source, dst_field=target, n_bits=bits)
            case plan.LoadBits(target, offset, bits, value):
                window = _NICIRA.ofs_nbits(offset, offset + bits - 1)
                return self.parser.NXActionRegLoad(ofs_nbits=window, dst=target, value=value)


class _OpenFlow15(Dialect):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.parser.OFPGroupDescStats.parser = descriptions.group_15
        self.parser.OFPFlowDesc.parser = descriptions.rule_15
        self.parser.OFPPort.parser = descriptions.port_15
        self.parser.OFPPortStats.parser = descriptions.port_statistics_15

    def group_body(self, group: plan.Group, command: int, datapath_id: int) -> bytes:
        buckets = b"".join(
            _bucket_15(number, group.kind, self.bucket(group.kind, bucket))
            for number, bucket in enumerate(buckets_in_slots(group))
        )
        head = struct.pack(
            "!HBxIH2xI",
            command,
            self.group_types[group.kind],
            group.number,
            len(buckets),
            self.protocol.OFPG_BUCKET_ALL,
        )
        if group.kind is not plan.GroupKind.SELECT:
            return head + buckets
        selection = _SELECTION_15.pack(
            self.protocol.OFPGPT_EXPERIMENTER,
            _SELECTION_15.size,
            _NETRONOME,
            _SELECTION_METHOD,
            _METHOD,
            _SYMMETRIC_L4 << 32 | datapath_id * _SPREAD & 0xFFFFFFFF,
        )
        return head + buckets + selection

    def _rules_request(self) -> Any:
        return self.parser.OFPFlowDescStatsRequest(self.description)

    def _own_action(self, action: plan.Action) -> Any:
        match action:
            case plan.SetField("in_port", value):
                # Under Nicira's name for the ingress port, the set-field action may write it.
                return self.parser.OFPActionSetField(in_port_nxm=value)
            case plan.CopyBits(source, target, bits):
                fields = [self.parser.OFPOxmId(field, hasmask=False) for field in (source, target)]
                return self.parser.OFPActionCopyField(n_bits=bits, oxm_ids=fields)
            case plan.LoadBits(target, offset, bits, value):
                mask = (1 << bits) - 1
                loaded = _field_value(target, value << offset, mask << offset)
                return self.parser.OFPActionSetField(**{target: loaded})


def _field_value(field: str, value: int, mask: int | None) -> Any:
    """Returns the value of a match field in the framework's form.

    MAC and IP addresses become text. With a mask, the result is the pair (value, mask).
    """
    text: Callable[[int], str] | None = None
    if field in plan.MAC_FIELDS:
        text = format_mac
    elif field in plan.IP_FIELDS:
        text = format_ip
    if mask is None:
        return text(value) if text else value
    return (text(value), text(mask)) if text else (value, mask)


def _bucket_15(number: int, kind: plan.GroupKind, bucket: Bucket) -> bytes:
    tail = bucket.actions
    if kind is plan.GroupKind.SELECT:
        tail += _WEIGHT_15.pack(WEIGHT, _WEIGHT_15.size, bucket.weight)
    if bucket.port != ANY:
        tail += WATCH_15.pack(WATCH_PORT, WATCH_15.size, bucket.port)
    return BUCKET_15.pack(BUCKET_15.size + len(tail), len(bucket.actions), number) + tail


OPENFLOW_13, OPENFLOW_15 = _OpenFlow13("v1_3"), _OpenFlow15("v1_5")
DIALECTS: Mapping[int, Dialect] = {dialect.version: dialect for dialect in (OPENFLOW_13, OPENFLOW_15)}

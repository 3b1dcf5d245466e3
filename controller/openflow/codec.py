"""OpenFlow 1.3 codec: commands to bytes, and the switches' messages to plain values.

Of the framework (`controller.openflow.frameworks`) only the parser is loaded, not the event loop: unlike
`controller.openflow.runtime`, this module can be imported anywhere. Both frameworks encode alike: the
fingerprints by which a new controller recognises rules and groups are the same.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from hashlib import blake2b
from typing import Any, NamedTuple

from controller.openflow.commands import (
    AskGroups,
    AskPortStatistics,
    AskRules,
    Barrier,
    Command,
    DropRules,
    Message,
    PutGroup,
    PutRule,
    SetPortState,
)
from controller.openflow.frameworks import load
from routing.plan import model as plan
from topology.addressing import format_ip, format_mac

_PARSER = load("ofproto.ofproto_v1_3_parser")
_PROTOCOL = load("ofproto.ofproto_v1_3")
_NICIRA = load("ofproto.nicira_ext")

OPENFLOW_VERSION: int = _PROTOCOL.OFP_VERSION

# The framework's messages ask a datapath for their version only.
_VERSION = load("ofproto.ofproto_protocol").ProtocolDesc(OPENFLOW_VERSION)
_GROUP_TYPES = {
    plan.GroupKind.INDIRECT: _PROTOCOL.OFPGT_INDIRECT,
    plan.GroupKind.SELECT: _PROTOCOL.OFPGT_SELECT,
    plan.GroupKind.FAST_FAILOVER: _PROTOCOL.OFPGT_FF,
}
_FLOW_MOD_HEAD = struct.Struct("!BBHIQ")  # version, type, length, transaction id, cookie


# ---- commands to bytes ----


def encode(messages: Iterable[Message], ports: Mapping[int, Any]) -> bytes:
    """Returns messages as OpenFlow 1.3 bytes, to be sent in one piece.

    Args:
        messages: the commands with their transaction ids, in the order of sending.
        ports: port number -> the switch's own description of the port; a command that sets a port's state
            must repeat the port's MAC address.
    """
    encoded = bytearray()
    for message in messages:
        if isinstance(message.command, PutGroup):
            encoded += _group_mod(message.xid, message.command)
            continue
        if isinstance(message.command, PutRule):
            encoded += _flow_mod(message.xid, message.command)
            continue
        framework_message = _framework_message(message.command, ports)
        framework_message.set_xid(message.xid)
        framework_message.serialize()
        encoded += framework_message.buf
    return bytes(encoded)


def _framework_message(command: Command, ports: Mapping[int, Any]) -> Any:
    match command:
        case AskGroups():
            return _PARSER.OFPGroupDescStatsRequest(_VERSION)
        case AskPortStatistics():
            return _PARSER.OFPPortStatsRequest(_VERSION, 0, _PROTOCOL.OFPP_ANY)
        case Barrier():
            return _PARSER.OFPBarrierRequest(_VERSION)
        case AskRules():
            return _PARSER.OFPFlowStatsRequest(_VERSION)
        case DropRules(cookie):
            return _PARSER.OFPFlowMod(
                _VERSION,
                cookie=cookie,
                cookie_mask=(1 << 64) - 1,
                table_id=_PROTOCOL.OFPTT_ALL,
                command=_PROTOCOL.OFPFC_DELETE,
                out_port=_PROTOCOL.OFPP_ANY,
                out_group=_PROTOCOL.OFPG_ANY,
            )
        case SetPortState(port, down):
            return _PARSER.OFPPortMod(
                _VERSION,
                port_no=port,
                hw_addr=ports[port].hw_addr,
                config=_PROTOCOL.OFPPC_PORT_DOWN if down else 0,
                mask=_PROTOCOL.OFPPC_PORT_DOWN,
                advertise=0,
            )


def _group_mod(xid: int, put: PutGroup) -> bytes:
    """Returns the message of a group, assembled from buckets that are encoded once.

    An adaptive group has 64 buckets, most of them equal, and is sent many times a second.
    """
    group = put.group
    command = _PROTOCOL.OFPGC_MODIFY if put.exists else _PROTOCOL.OFPGC_ADD
    buckets = b"".join(_bucket(group.kind, bucket) for bucket in group.buckets)
    length = _PROTOCOL.OFP_GROUP_MOD_SIZE + len(buckets)
    head = struct.pack("!BBHI", _PROTOCOL.OFP_VERSION, _PROTOCOL.OFPT_GROUP_MOD, length, xid)
    return head + struct.pack("!HBxI", command, _GROUP_TYPES[group.kind], group.number) + buckets


def _flow_mod(xid: int, put: PutRule) -> bytes:
    encoded = _encoded_rule(put.rule)
    head = _FLOW_MOD_HEAD.pack(OPENFLOW_VERSION, _PROTOCOL.OFPT_FLOW_MOD, encoded.length, xid, put.cookie)
    return head + encoded.tail


# Most switches of a fabric have many rules and groups in common: their encodings are cached.


class _EncodedRule(NamedTuple):
    """The message of a rule: its length, the bytes behind the cookie, and the rule's fingerprint."""

    length: int
    tail: bytes
    fingerprint: int


# To hash a rule takes longer than all else about it: rules are first recognised by their identity, which is
# theirs as long as they are kept here.
_known_rules: dict[int, tuple[plan.Rule, _EncodedRule]] = {}
_MOST_KNOWN = 1 << 20


def _encoded_rule(rule: plan.Rule) -> _EncodedRule:
    known = _known_rules.get(id(rule))
    if known:
        return known[1]
    encoded = _encode_rule(rule)
    if len(_known_rules) >= _MOST_KNOWN:  # of many plans, one after the other
        _known_rules.clear()
    _known_rules[id(rule)] = rule, encoded
    return encoded


@cache
def _bucket(kind: plan.GroupKind, bucket: plan.Bucket) -> bytes:
    encoded = bytearray()
    _PARSER.OFPBucket(
        weight=bucket.weight if kind is plan.GroupKind.SELECT else 0,
        watch_port=_PROTOCOL.OFPP_ANY if bucket.watch_port is None else bucket.watch_port,
        watch_group=_PROTOCOL.OFPG_ANY,
        actions=_actions(bucket.actions),
    ).serialize(encoded, 0)
    return bytes(encoded)


@cache
def _encode_rule(rule: plan.Rule) -> _EncodedRule:
    message = _PARSER.OFPFlowMod(
        _VERSION,
        table_id=rule.table,
        priority=rule.priority,
        match=_match(rule.match),
        instructions=_instructions(rule.actions, rule.goto),
    )
    message.set_xid(0)
    message.serialize()  # with transaction id 0 and cookie 0, on which the fingerprint is taken
    digest = blake2b(message.buf, digest_size=plan.FINGERPRINT_BITS // 8).digest()
    tail = bytes(message.buf[_FLOW_MOD_HEAD.size :])
    return _EncodedRule(len(message.buf), tail, int.from_bytes(digest, "big"))


@cache
def _match(fields: plan.Match) -> Any:
    return _PARSER.OFPMatch(**{f.field: _field_value(f.field, f.value, f.mask) for f in fields})


@cache
def _instructions(actions: plan.Actions, goto: plan.Table | None) -> list[Any]:
    instructions = []
    if actions:
        apply = _PROTOCOL.OFPIT_APPLY_ACTIONS
        instructions.append(_PARSER.OFPInstructionActions(apply, _actions(actions)))
    if goto is not None:
        instructions.append(_PARSER.OFPInstructionGotoTable(goto))
    return instructions


def _actions(actions: plan.Actions) -> list[Any]:
    return [_action(action) for action in actions]


def _action(action: plan.Action) -> Any:
    match action:
        case plan.Output(port):
            return _PARSER.OFPActionOutput(port)
        case plan.ToGroup(group):
            return _PARSER.OFPActionGroup(group)
        case plan.SetField("in_port", value):
            # OpenFlow's set-field action excludes the ingress port; Nicira's register load may write it.
            window = _NICIRA.ofs_nbits(0, 31)
            return _PARSER.NXActionRegLoad(ofs_nbits=window, dst="in_port", value=value)
        case plan.SetField(field, value):
            return _PARSER.OFPActionSetField(**{field: _field_value(field, value, None)})
        case plan.CopyBits(source, target, bits):
            return _PARSER.NXActionRegMove(src_field=source, dst_field=target, n_bits=bits)
        case plan.LoadBits(target, offset, bits, value):
            window = _NICIRA.ofs_nbits(offset, offset + bits - 1)
            return _PARSER.NXActionRegLoad(ofs_nbits=window, dst=target, value=value)
        case plan.PushVlan():
            return _PARSER.OFPActionPushVlan()
        case plan.PopVlan():
            return _PARSER.OFPActionPopVlan()
        case plan.DecrementTtl():
            return _PARSER.OFPActionDecNwTtl()


def _field_value(field: str, value: int, mask: int | None) -> Any:
    """Returns a field's value for the framework's constructors: addresses as text, with a mask in a pair."""
    text: Callable[[int], str] | None = None
    if field in plan.MAC_FIELDS:
        text = format_mac
    elif field in plan.IP_FIELDS:
        text = format_ip
    if mask is None:
        return text(value) if text else value
    return (text(value), text(mask)) if text else (value, mask)


# ---- fingerprints ----


def fingerprint(entry: plan.Rule | plan.Group) -> int:
    """Returns a hash of a rule (48 bits) or a group (32 bits) that is the same in every run."""
    if isinstance(entry, plan.Rule):
        return _encoded_rule(entry).fingerprint
    buckets = b"".join(_bucket(entry.kind, bucket) for bucket in entry.buckets)
    return _group_fingerprint(_GROUP_TYPES[entry.kind], buckets)


def described_groups(message: Any) -> dict[int, int]:
    """Returns group number -> fingerprint, from a switch's description of its groups."""
    fingerprints = {}
    for entry in message.body:
        buckets = bytearray()
        for bucket in entry.buckets:
            bucket.serialize(buckets, len(buckets))
        fingerprints[entry.group_id] = _group_fingerprint(entry.type, bytes(buckets))
    return fingerprints


def _group_fingerprint(kind: int, buckets: bytes) -> int:
    return zlib.crc32(buckets, kind)


# ---- the switches' messages to plain values ----


def error_text(message: Any) -> str:
    """Returns the type and code of an error message by their OpenFlow names."""
    kind = _PROTOCOL.ofp_error_type_to_str(message.type)
    code = _PROTOCOL.ofp_error_code_to_str(message.type, message.code)
    return f"{kind}: {code}"


def more_follows(message: Any) -> bool:
    """Returns whether a reply in several messages continues after this one."""
    return bool(message.flags & _PROTOCOL.OFPMPF_REPLY_MORE)


def port_is_up(port: Any) -> bool:
    """Returns whether a port, as its switch describes it, can carry packets."""
    return not (port.state & _PROTOCOL.OFPPS_LINK_DOWN or port.config & _PROTOCOL.OFPPC_PORT_DOWN)


def port_is_removed(message: Any) -> bool:
    """Returns whether a port status message says that the port was deleted."""
    return bool(message.reason == _PROTOCOL.OFPPR_DELETE)


def port_is_set_down(port: Any) -> bool:
    """Returns whether a port, as its switch describes it, is administratively down."""
    return bool(port.config & _PROTOCOL.OFPPC_PORT_DOWN)

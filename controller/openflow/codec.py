"""OpenFlow codec: encodes commands as bytes, and turns the switches' messages into plain values.

This module loads the framework's parsers (`controller.openflow.frameworks`) but not its event loop: unlike
`controller.openflow.ryu_runtime`, it can be imported anywhere. Both frameworks encode messages identically.
The fingerprints by which a new controller recognises rules and groups are the same in both versions of
OpenFlow.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

from controller.openflow import door
from controller.openflow.bucket_slots import buckets_in_slots
from controller.openflow.commands import DropRules, Message, PutGroup, PutRule
from controller.openflow.descriptions import Bucket
from controller.openflow.dialects import DIALECTS, MAX_KNOWN, OPENFLOW_13, OPENFLOW_15, Dialect
from routing.plan import model as plan

OPENFLOW_VERSIONS = tuple(DIALECTS)

_HEAD = struct.Struct("!BBHI")  # version, type, length, transaction id
_FLOW_MOD_HEAD = struct.Struct("!BBHIQ")  # the same fields and the cookie
_PROTOCOL = OPENFLOW_13.protocol  # for constants that are the same in both versions


# ---- messages of the handshake ----

_NO_XID = 0  # the replies are recognised by their types


def hello() -> bytes:
    """Returns the controller's first message, which lists its versions."""
    return door.hello(OPENFLOW_VERSIONS, _NO_XID)


def features_request(version: int) -> bytes:
    """Returns the request for the switch's datapath id."""
    return _HEAD.pack(version, _PROTOCOL.OFPT_FEATURES_REQUEST, _HEAD.size, _NO_XID)


def ports_request(version: int) -> bytes:
    """Returns the request for the switch's descriptions of its ports."""
    dialect = DIALECTS[version]
    request = dialect.parser.OFPPortDescStatsRequest(dialect.description)
    request.set_xid(_NO_XID)
    request.serialize()
    return bytes(request.buf)


def echo_request(version: int) -> bytes:
    """Returns a message that the switch answers at once."""
    return _HEAD.pack(version, _PROTOCOL.OFPT_ECHO_REQUEST, _HEAD.size, _NO_XID)


def echo_reply(request: bytes) -> bytes:
    """Returns the answer to a switch's echo request, with the same content."""
    version, _, length, xid = _HEAD.unpack_from(request)
    return _HEAD.pack(version, _PROTOCOL.OFPT_ECHO_REPLY, length, xid) + request[_HEAD.size :]


# ---- commands to bytes ----


def encode(
    messages: Iterable[Message],
    ports: Mapping[int, Any],
    version: int = OPENFLOW_13.version,
    datapath_id: int = 0,
) -> bytes:
    """Returns messages as OpenFlow bytes, concatenated.

    Args:
        messages: the commands with their transaction ids, in the order of sending.
        ports: port number -> the switch's own description of the port; a command that sets a port's state
            must repeat the port's MAC address.
        version: the negotiated version, one of OPENFLOW_VERSIONS.
        datapath_id: the switch; with OpenFlow 1.5 each switch gets its own hash basis for select groups.
    """
    dialect = DIALECTS[version]
    encoded = bytearray()
    for message in messages:
        if isinstance(message.command, PutGroup):
            encoded += _group_mod(dialect, message.xid, message.command, datapath_id)
            continue
        if isinstance(message.command, PutRule):
            rule = _encoded_rule(dialect, message.command.rule)
            encoded += _flow_mod(dialect, message.xid, message.command.cookie, rule.tail)
            continue
        if isinstance(message.command, DropRules):
            tail = _deletion(dialect, message.command.mask)
            encoded += _flow_mod(dialect, message.xid, message.command.cookie, tail)
            continue
        request = dialect.request(message.command, ports)
        request.set_xid(message.xid)
        request.serialize()
        encoded += request.buf
    return bytes(encoded)


def _group_mod(dialect: Dialect, xid: int, put: PutGroup, datapath_id: int) -> bytes:
    """Returns the message that adds or changes a group, assembled from buckets that are encoded only once.

    An adaptive group has 64 buckets, most of them equal, and is sent many times a second.
    """
    protocol = dialect.protocol
    command = protocol.OFPGC_MODIFY if put.exists else protocol.OFPGC_ADD
    body = dialect.group_body(put.group, command, datapath_id)
    return _HEAD.pack(dialect.version, protocol.OFPT_GROUP_MOD, _HEAD.size + len(body), xid) + body


def _flow_mod(dialect: Dialect, xid: int, cookie: int, tail: bytes) -> bytes:
    length = _FLOW_MOD_HEAD.size + len(tail)
    return _FLOW_MOD_HEAD.pack(dialect.version, _PROTOCOL.OFPT_FLOW_MOD, length, xid, cookie) + tail


@lru_cache
def _deletion(dialect: Dialect, mask: int) -> bytes:
    """Returns the bytes after the cookie in a message that deletes rules by the cookie's `mask` bits."""
    request = dialect.request(DropRules(0, mask), {})
    request.set_xid(0)
    request.serialize()
    return bytes(request.buf[_FLOW_MOD_HEAD.size :])


class _EncodedRule(NamedTuple):
    """The encoded message that adds a rule: the bytes after the cookie, and the rule's fingerprint."""

    tail: bytes
    fingerprint: int


# Switches of a fabric share most of their rules, and hashing a rule costs more than everything else about it.
# Rules are therefore looked up by id first, which stays unique because this table keeps them alive.
_known_rules: dict[int, dict[int, tuple[plan.Rule, _EncodedRule]]] = {version: {} for version in DIALECTS}


def _encoded_rule(dialect: Dialect, rule: plan.Rule) -> _EncodedRule:
    known = _known_rules[dialect.version]
    entry = known.get(id(rule))
    if entry:
        return entry[1]
    encoded = _encode_rule(dialect, rule)
    if len(known) >= MAX_KNOWN:  # after many plans
        known.clear()
    known[id(rule)] = rule, encoded
    return encoded


@lru_cache(MAX_KNOWN)
def _encode_rule(dialect: Dialect, rule: plan.Rule) -> _EncodedRule:
    message = dialect.rule(rule)
    digest = blake2b(message, digest_size=plan.FINGERPRINT_BITS // 8).digest()
    return _EncodedRule(message[_FLOW_MOD_HEAD.size :], int.from_bytes(digest, "big"))


# ---- fingerprints ----


def fingerprint(entry: plan.Rule | plan.Group) -> int:
    """Returns a hash of a rule (48 bits) or a group (32 bits) that is the same in every run."""
    if isinstance(entry, plan.Rule):
        return _encoded_rule(OPENFLOW_15, entry).fingerprint
    buckets = (OPENFLOW_13.bucket(entry.kind, bucket) for bucket in buckets_in_slots(entry))
    return _group_fingerprint(OPENFLOW_13.group_types[entry.kind], buckets)


def described_groups(message: Any) -> dict[int, int]:
    """Returns group number -> fingerprint for the groups that a switch describes."""
    return {group.group_id: _group_fingerprint(group.type, group.buckets) for group in message.body}


def _group_fingerprint(kind: int, buckets: Iterable[Bucket]) -> int:
    return zlib.crc32(b"".join(bucket.encoded() for bucket in buckets), kind)


# ---- the switches' messages to plain values ----


def decode(data: bytes) -> Any:
    """Returns a switch's message in the framework's form.

    Args:
        data: a whole message that `controller.openflow.door` has checked.

    Raises:
        MalformedMessage: the parsers cannot read it, which is a fault of theirs or of the door.
    """
    version, kind, length, xid = _HEAD.unpack_from(data)
    dialect = DIALECTS[version]
    try:
        # Not `ofproto_parser.msg`, which catches all exceptions and drops the message.
        return dialect.parser.msg_parser(dialect.description, version, kind, length, xid, data)
    except Exception as error:  # whatever a switch sends, it must not end the controller
        raise door.MalformedMessage(
            f"message type {kind} cannot be parsed: {type(error).__name__}: {error}"
        ) from error


def error_text(message: Any) -> str:
    """Returns the OpenFlow names of an error message's type and code."""
    kind, code = _error_names(message.version, message.type, message.code)
    if message.code is None:  # an experimenter error, which has a type of its own instead
        return f"{kind}: {message.experimenter:#x}, type {message.exp_type}"
    return f"{kind}: {code}"


@lru_cache(maxsize=256)  # the framework searches all its names each time, and a switch can send many errors
def _error_names(version: int, kind: int, code: int | None) -> tuple[str, str]:
    protocol = DIALECTS[version].protocol
    name = "" if code is None else protocol.ofp_error_code_to_str(kind, code)
    return protocol.ofp_error_type_to_str(kind), name


def more_follows(message: Any) -> bool:
    """Returns whether a multipart reply continues after this message."""
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

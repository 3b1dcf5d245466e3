"""The one module that imports Ryu: start-up, the switches' connections, and the encoding of plans.

Another OpenFlow library (os-ken has the same interface) would be a second module like this one. Nothing
of `ryu.app` or `ryu.topology` is used: the graph is known, and their link discovery is not needed.
"""

from __future__ import annotations

import os
import socket
import ssl
import struct
import warnings
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # eventlet announces its own retirement at every import
    import eventlet.wsgi
    from eventlet import tpool

    # Ryu 4.34 imports this name, which eventlet dropped in 0.33; it marks handled WebSocket requests,
    # of which there are none here.
    if not hasattr(eventlet.wsgi, "ALREADY_HANDLED"):
        eventlet.wsgi.ALREADY_HANDLED = object()
    from ryu.lib import hub

hub.patch(thread=False)

from ryu import cfg
from ryu.base import app_manager
from ryu.controller import ofp_event, ofp_handler
from ryu.controller.controller import Datapath, datapath_connection_factory
from ryu.controller.handler import (
    CONFIG_DISPATCHER,
    DEAD_DISPATCHER,
    HANDSHAKE_DISPATCHER,
    MAIN_DISPATCHER,
    set_ev_cls,
)
from ryu.ofproto import nicira_ext, ofproto_v1_3, ofproto_v1_3_parser
from ryu.ofproto.ofproto_protocol import ProtocolDesc

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
from controller.reports import report
from routing.plan import model as plan
from topology.addressing import colons, dotted

__all__ = [
    "CONFIG_DISPATCHER",
    "DEAD_DISPATCHER",
    "HANDSHAKE_DISPATCHER",
    "MAIN_DISPATCHER",
    "Certificates",
    "RyuApp",
    "described_groups",
    "encode",
    "error_text",
    "fingerprint",
    "listen",
    "more_follows",
    "ofp_event",
    "ofproto_v1_3",
    "port_is_gone",
    "port_is_set_down",
    "port_is_up",
    "run",
    "set_ev_cls",
    "sleep",
    "spawn",
]

RyuApp = app_manager.RyuApp

_ECHO_EVERY_S, _UNANSWERED_ECHOES = 2, 3

# Switches of a fabric connect all at once; Ryu's own listener takes 50 and lets the others wait a second.
_BACKLOG = 4096


class _Handshake(ofp_handler.OFPHandler):  # type: ignore[misc]
    """Ryu's own handshake, behind a listener that somebody else opened."""

    def __init__(self, listener: Any, context: ssl.SSLContext | None) -> None:
        super().__init__()
        self._listener = listener
        self._context = context

    def start(self) -> Any:
        RyuApp.start(self)
        return hub.spawn(self._accept, raise_error=True)

    def _accept(self) -> None:
        while True:
            connection, address = self._listener.accept()
            hub.spawn(self._serve, connection, address)

    def _serve(self, connection: Any, address: Any) -> None:
        if self._context:
            try:
                connection = self._context.wrap_socket(connection, server_side=True)
            except OSError as error:  # TLS's own errors among them
                connection.close()
                report("warning", text=f"a connection from {address[0]} was refused: {error}")
                return
        datapath_connection_factory(connection, address)


class _UnixSocket(eventlet.greenio.GreenSocket):  # type: ignore[misc]
    """A Unix stream socket that takes the TCP options which Ryu sets on every connection."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.setsockopt = self._set_option  # eventlet binds the underlying socket's to each instance

    def _set_option(self, level: int, *rest: Any) -> None:
        if level != socket.IPPROTO_TCP:
            self.fd.setsockopt(level, *rest)

    def accept(self) -> tuple[Any, Any]:
        connection, address = super().accept()  # of this class, too
        return connection, address or "unix"


def _remove_stale(path: str) -> None:
    """Removes a socket that a controller left which was killed: nobody listens there."""
    with socket.socket(socket.AF_UNIX) as trial:
        try:
            trial.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
        except OSError:
            pass  # there is none, or it is no socket: to bind will tell


def _listen_unix(path: str) -> Any:
    # Whoever can open the socket can be a switch: nobody but the owner.
    mask = os.umask(0o077)
    try:
        _remove_stale(path)
        listener = _UnixSocket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(path)
        listener.listen(_BACKLOG)
    finally:
        os.umask(mask)
    return listener


@dataclass(frozen=True)
class Certificates:
    """Files for TLS: our key and certificate, and that of the authority which signed the switches'."""

    key: str
    certificate: str
    authority: str

    def context(self) -> ssl.SSLContext:
        """Returns what takes only connections of switches with a certificate of that authority.

        Raises:
            OSError: a file cannot be read, or is not what it should be.
        """
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=self.authority)
        context.load_cert_chain(self.certificate, self.key)
        context.verify_mode = ssl.CERT_REQUIRED
        return context


def listen(path: str | None, host: str, port: int) -> Any:
    """Opens the listening socket: a Unix socket where `path` is given, else TCP on host and port.

    Raises:
        OSError: it cannot be opened.
    """
    if path is not None:
        return _listen_unix(path)
    # Not shared: a second controller on the same port must fail, not take every other switch.
    return eventlet.listen((host, port), backlog=_BACKLOG, reuse_port=False)


spawn = hub.spawn
sleep = hub.sleep


def in_a_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Returns what a function does, in a thread of the system; the event loop goes on meanwhile."""
    return tpool.execute(function, *arguments)


def run(listener: Any, context: ssl.SSLContext | None, application_class: type[Any], *arguments: Any) -> None:
    """Runs one application on the connections that `listener` accepts, until a thread of it ends.

    With a context, connections are TLS.
    """
    cfg.CONF(args=[], project="polarlab")
    # A switch that keeps its connection and answers nothing is closed after some seconds.
    cfg.CONF.set_override("echo_request_interval", _ECHO_EVERY_S)
    cfg.CONF.set_override("maximum_unreplied_echo_requests", _UNANSWERED_ECHOES)
    manager = app_manager.AppManager.get_instance()
    handshake = manager.instantiate(_Handshake, listener, context)
    application = manager.instantiate(application_class, *arguments)
    threads = [handshake.start(), application.start()]
    hub.joinall([thread for thread in threads if thread is not None])


# ---- encoding ----

_PARSER = ofproto_v1_3_parser
_PROTOCOL = ofproto_v1_3
_NO_DATAPATH = ProtocolDesc(ofproto_v1_3.OFP_VERSION)  # where Ryu wants one to know the version by
_GROUP_TYPES = {
    plan.GroupKind.INDIRECT: _PROTOCOL.OFPGT_INDIRECT,
    plan.GroupKind.SELECT: _PROTOCOL.OFPGT_SELECT,
    plan.GroupKind.FAST_FAILOVER: _PROTOCOL.OFPGT_FF,
}


def encode(datapath: Datapath, messages: Iterable[Message]) -> bytes:
    """Returns messages as OpenFlow 1.3 bytes, ready to be sent in one piece."""
    encoded = bytearray()
    for message in messages:
        if isinstance(message.command, PutGroup):
            encoded += _group_mod(message.xid, message.command)
            continue
        if isinstance(message.command, PutRule):
            encoded += _flow_mod(message.xid, message.command)
            continue
        wire = _wire_message(datapath, message)
        wire.set_xid(message.xid)
        wire.serialize()
        encoded += wire.buf
    return bytes(encoded)


def error_text(message: Any) -> str:
    """Returns the type and code of an error message by their OpenFlow names."""
    kind = _PROTOCOL.ofp_error_type_to_str(message.type)
    code = _PROTOCOL.ofp_error_code_to_str(message.type, message.code)
    return f"{kind}: {code}"


def _wire_message(datapath: Datapath, message: Message) -> Any:
    match message.command:
        case AskGroups():
            return _PARSER.OFPGroupDescStatsRequest(datapath)
        case AskPortStatistics():
            return _PARSER.OFPPortStatsRequest(datapath, 0, _PROTOCOL.OFPP_ANY)
        case Barrier():
            return _PARSER.OFPBarrierRequest(datapath)
        case AskRules():
            return _PARSER.OFPFlowStatsRequest(datapath)
        case DropRules(cookie):
            return _PARSER.OFPFlowMod(
                datapath,
                cookie=cookie,
                cookie_mask=(1 << 64) - 1,
                table_id=_PROTOCOL.OFPTT_ALL,
                command=_PROTOCOL.OFPFC_DELETE,
                out_port=_PROTOCOL.OFPP_ANY,
                out_group=_PROTOCOL.OFPG_ANY,
            )
        case SetPortState(port, down):
            return _PARSER.OFPPortMod(
                datapath,
                port_no=port,
                hw_addr=datapath.ports[port].hw_addr,
                config=_PROTOCOL.OFPPC_PORT_DOWN if down else 0,
                mask=_PROTOCOL.OFPPC_PORT_DOWN,
                advertise=0,
            )


def _group_mod(xid: int, put: PutGroup) -> bytes:
    """Returns a group's message, put together from buckets that were encoded before.

    An adaptive group has 64 buckets, most of them alike, and is sent many times a second.
    """
    group = put.group
    command = _PROTOCOL.OFPGC_MODIFY if put.exists else _PROTOCOL.OFPGC_ADD
    buckets = b"".join(_bucket(group.kind, bucket) for bucket in group.buckets)
    length = _PROTOCOL.OFP_GROUP_MOD_SIZE + len(buckets)
    head = struct.pack("!BBHI", _PROTOCOL.OFP_VERSION, _PROTOCOL.OFPT_GROUP_MOD, length, xid)
    return head + struct.pack("!HBxI", command, _GROUP_TYPES[group.kind], group.number) + buckets


_FLOW_MOD_HEAD = struct.Struct("!BBHIQ")  # of which the last two are the message's number and the cookie


def _flow_mod(xid: int, put: PutRule) -> bytes:
    """Returns a rule's message."""
    encoded = _encoded_rule(put.rule)
    version, kind, length, _, _ = _FLOW_MOD_HEAD.unpack_from(encoded)
    return _FLOW_MOD_HEAD.pack(version, kind, length, xid, put.cookie) + encoded[_FLOW_MOD_HEAD.size :]


def fingerprint(what: plan.Rule | plan.Group) -> int:
    """Returns bits that tell a rule or a group from all others, the same in every run: 48, of a group 32."""
    if isinstance(what, plan.Rule):
        digest = blake2b(_encoded_rule(what), digest_size=plan.FINGERPRINT_BITS // 8).digest()
        return int.from_bytes(digest, "big")
    buckets = b"".join(_bucket(what.kind, bucket) for bucket in what.buckets)
    return _group_fingerprint(_GROUP_TYPES[what.kind], buckets)


def described_groups(message: Any) -> dict[int, int]:
    """Returns group number -> fingerprint, from a switch's description of its groups."""
    found = {}
    for entry in message.body:
        buckets = bytearray()
        for bucket in entry.buckets:
            bucket.serialize(buckets, len(buckets))
        found[entry.group_id] = _group_fingerprint(entry.type, bytes(buckets))
    return found


def port_is_up(port: Any) -> bool:
    """Returns whether a port, as a switch describes it, can carry packets."""
    return not (port.state & _PROTOCOL.OFPPS_LINK_DOWN or port.config & _PROTOCOL.OFPPC_PORT_DOWN)


def port_is_gone(message: Any) -> bool:
    """Returns whether a port's status is that it is no more."""
    return bool(message.reason == _PROTOCOL.OFPPR_DELETE)


def port_is_set_down(port: Any) -> bool:
    """Returns whether a controller has set a port down."""
    return bool(port.config & _PROTOCOL.OFPPC_PORT_DOWN)


def more_follows(message: Any) -> bool:
    """Returns whether an answer in several messages goes on after this one."""
    return bool(message.flags & _PROTOCOL.OFPMPF_REPLY_MORE)


def _group_fingerprint(kind: int, buckets: bytes) -> int:
    return zlib.crc32(buckets, kind)


# The rules and groups of a fabric's switches are mostly alike, so that their parts are made once.


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
def _encoded_rule(rule: plan.Rule) -> bytes:
    """Returns a rule's message without its number and cookie."""
    wire = _PARSER.OFPFlowMod(
        _NO_DATAPATH,
        table_id=rule.table,
        priority=rule.priority,
        match=_match(rule.match),
        instructions=_instructions(rule.actions, rule.goto),
    )
    wire.set_xid(0)
    wire.serialize()
    return bytes(wire.buf)


@cache
def _match(fields: plan.Match) -> Any:
    return _PARSER.OFPMatch(**{f.field: _user_value(f.field, f.value, f.mask) for f in fields})


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
            # OpenFlow has no such action; Nicira's register load may write it.
            window = nicira_ext.ofs_nbits(0, 31)
            return _PARSER.NXActionRegLoad(ofs_nbits=window, dst="in_port", value=value)
        case plan.SetField(field, value):
            return _PARSER.OFPActionSetField(**{field: _user_value(field, value, None)})
        case plan.CopyBits(source, target, bits):
            return _PARSER.NXActionRegMove(src_field=source, dst_field=target, n_bits=bits)
        case plan.LoadBits(target, offset, bits, value):
            window = nicira_ext.ofs_nbits(offset, offset + bits - 1)
            return _PARSER.NXActionRegLoad(ofs_nbits=window, dst=target, value=value)
        case plan.PushVlan():
            return _PARSER.OFPActionPushVlan()
        case plan.PopVlan():
            return _PARSER.OFPActionPopVlan()
        case plan.DecrementTtl():
            return _PARSER.OFPActionDecNwTtl()


def _user_value(field: str, value: int, mask: int | None) -> Any:
    """Returns a field's value in the form in which Ryu's constructors want it."""
    text: Callable[[int], str] | None = None
    if field in plan.MAC_FIELDS:
        text = colons
    elif field in plan.IP_FIELDS:
        text = dotted
    if mask is None:
        return text(value) if text else value
    return (text(value), text(mask)) if text else (value, mask)

"""A switch without packets: it keeps the rules and groups that a controller sends."""

import contextlib
import socket
import struct
import threading

HEADER = struct.Struct("!BBHI")  # version, type, length, transaction id
OPENFLOW_13, OPENFLOW_15 = 4, 6
HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, FEATURES_REQUEST, FEATURES_REPLY = 0, 1, 2, 3, 5, 6
PORT_STATUS, FLOW_MOD, GROUP_MOD, PORT_MOD = 12, 14, 15, 16
MULTIPART_REQUEST, MULTIPART_REPLY, BARRIER_REQUEST, BARRIER_REPLY = 18, 19, 20, 21
FLOW_STATISTICS, PORT_STATISTICS, GROUP_DESCRIPTION, PORT_DESCRIPTION = 1, 4, 7, 13
ADD, DELETE = 0, 3
PRIORITY_AT, MATCH_AT = 22, 40  # in a flow mod, behind the header
PORT_DOWN = 1
ENTRIES_AT_ONCE = 1000  # rules that a message of 64 KiB can describe
TABLE_FULL = struct.pack("!HH", 5, 1)  # flow mod failed: table full


class FakeSwitch:
    """A switch that connects to a controller's Unix socket.

    Attributes:
        version: the OpenFlow version that it speaks.
        rules: (table, priority, match) -> cookie.
        groups: number -> (type, encoded buckets).
        ports_down: ports that are administratively down.
        links_down: ports whose links are down.
        changes: rules, groups and deletions received since the last connection.
        refuses_rules: whether it answers every rule with an error.
    """

    def __init__(self, path, datapath_id, ports, version=OPENFLOW_13):
        self.path = str(path)
        self.datapath_id = datapath_id
        self.ports = ports
        self.version = version
        self.rules = {}
        self.groups = {}
        self.ports_down = set()
        self.links_down = set()
        self.changes = 0
        self.refuses_rules = False
        self._socket = None
        self._thread = None

    def connect(self):
        self.changes = 0
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(self.path)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def connected(self):
        return self._thread.is_alive()

    def disconnect(self):
        with contextlib.suppress(OSError):  # the controller was first
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def restart(self):
        """Loses all that it holds and connects again."""
        self.disconnect()
        self.rules.clear()
        self.groups.clear()
        self.ports_down.clear()
        self.connect()

    def set_link(self, port, *, down):
        """Loses the link of a port, or has it again."""
        (self.links_down.add if down else self.links_down.discard)(port)
        self._send_port(port)

    def _serve(self):
        with contextlib.suppress(OSError), self._socket.makefile("rb") as stream:  # until either end closes
            self._send(HELLO, 1)
            while len(head := stream.read(HEADER.size)) == HEADER.size:
                _, kind, length, xid = HEADER.unpack(head)
                body = stream.read(length - HEADER.size)
                if HEADER.size + len(body) < length:
                    return
                self._answer(kind, xid, body)

    def _send(self, kind, xid, body=b""):
        self._socket.sendall(HEADER.pack(self.version, kind, HEADER.size + len(body), xid) + body)

    def _answer(self, kind, xid, body):
        if kind == FEATURES_REQUEST:
            self._send(FEATURES_REPLY, xid, struct.pack("!QIBB2xII", self.datapath_id, 0, 254, 0, 0, 0))
        elif kind == ECHO_REQUEST:
            self._send(ECHO_REPLY, xid, body)
        elif kind == BARRIER_REQUEST:
            self._send(BARRIER_REPLY, xid)
        elif kind == MULTIPART_REQUEST:
            (request,) = struct.unpack_from("!H", body)
            entries = self.described(request)
            for first in range(0, max(1, len(entries)), ENTRIES_AT_ONCE):
                more = first + ENTRIES_AT_ONCE < len(entries)
                body = b"".join(entries[first : first + ENTRIES_AT_ONCE])
                self._send(MULTIPART_REPLY, xid, struct.pack("!HH4x", request, more) + body)
        elif kind in (FLOW_MOD, GROUP_MOD):
            self.changes += 1
            if kind == FLOW_MOD and self.refuses_rules:
                self._send(ERROR, xid, TABLE_FULL)
            else:
                (self._take_rule if kind == FLOW_MOD else self._take_group)(body)
        elif kind == PORT_MOD:
            self._set_port(xid, body)

    def _take_rule(self, body):
        cookie, mask, table, command = struct.unpack_from("!QQBB", body)
        if command == ADD:
            (priority,) = struct.unpack_from("!H", body, PRIORITY_AT)
            (size,) = struct.unpack_from("!H", body, MATCH_AT + 2)
            self.rules[table, priority, body[MATCH_AT : MATCH_AT + size]] = cookie
        else:
            assert command == DELETE
            self.rules = {key: other for key, other in self.rules.items() if (other ^ cookie) & mask}

    def _take_group(self, body):
        if self.version == OPENFLOW_13:
            _, kind, number = struct.unpack_from("!HBxI", body)
            self.groups[number] = (kind, body[8:])
        else:
            _, kind, number, array, _ = struct.unpack_from("!HBxIH2xI", body)
            self.groups[number] = (kind, body[16 : 16 + array])

    def _set_port(self, xid, body):
        (port,) = struct.unpack_from("!I", body)
        (config,) = struct.unpack_from("!I", body, 16)
        (self.ports_down.add if config & PORT_DOWN else self.ports_down.discard)(port)
        self._send_port(port, xid)

    def _send_port(self, port, xid=0):
        self._send(PORT_STATUS, xid, struct.pack("!B7x", 2) + self.port(port))  # 2: modified

    def described(self, request):
        if request == PORT_DESCRIPTION:
            return [self.port(port) for port in range(1, self.ports + 1)]
        if request == FLOW_STATISTICS:
            return [self._rule(cookie) for cookie in self.rules.values()]
        if request == GROUP_DESCRIPTION:
            return [self._group(number, kind, buckets) for number, (kind, buckets) in self.groups.items()]
        return []

    def port(self, port):
        config = PORT_DOWN if port in self.ports_down else 0
        state = int(port in self.links_down)
        address = bytes([2, 0, 0, 0, self.datapath_id, port])
        if self.version == OPENFLOW_15:
            return struct.pack("!IH2x6s2x16sII", port, 40, address, b"port", config, state)
        return struct.pack("!I4x6s2x16s8I", port, address, b"port", config, state, 0, 0, 0, 0, 0, 0)

    def _group(self, number, kind, buckets):
        if self.version == OPENFLOW_15:
            return struct.pack("!HBxIH6x", 16 + len(buckets), kind, number, len(buckets)) + buckets
        return struct.pack("!HBxI", 8 + len(buckets), kind, number) + buckets

    def _rule(self, cookie):
        if self.version == OPENFLOW_15:  # no match, no statistics
            return struct.pack("!H2xBxHHHHHQHH4xHH4x", 40, 0, 0, 0, 0, 0, 0, cookie, 1, 4, 0, 4)
        return struct.pack("!HBxIIHHHH4xQQQHH4x", 56, 0, 0, 0, 0, 0, 0, 0, cookie, 0, 0, 1, 4)

"""Connections on the default event loop: turns of other connections, and messages that nobody can read."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from support.builders.openflow_messages import features, hello, message
from support.fixtures.documents import ROOT
from support.fixtures.fake_switch import OPENFLOW_13, OPENFLOW_15, FakeSwitch

from controller.openflow.connections import IN_A_ROW, TURN_BYTES
from controller.openflow.event_loop import Connection, UnservedTurns
from controller.openflow.frameworks import FRAMEWORKS, VARIABLE

ECHO_REQUEST, DROPPED = 2, 4


class Loop:
    """An event loop whose turns the test makes."""

    def __init__(self):
        self.soon = []
        self.unserved = UnservedTurns(self)

    def call_later(self, _seconds, _function):
        return SimpleNamespace(cancel=lambda: None)

    def call_soon(self, function):
        self.soon.append(function)

    def turn(self):
        now, self.soon = self.soon, []
        for function in now:
            function()


class Transport:
    """A transport whose other end reads everything at once."""

    def __init__(self):
        self.reading = True
        self.sent = b""

    def get_write_buffer_size(self):
        return 0

    def write(self, data):
        self.sent += data

    def pause_reading(self):
        self.reading = False

    def resume_reading(self):
        self.reading = True


def connected(loop):
    """A connection, and its transport."""
    connection, transport = Connection(SimpleNamespace(loop=loop, unserved=loop.unserved)), Transport()
    connection.connection_made(transport)
    return connection, transport


@pytest.mark.parametrize("kind", [ECHO_REQUEST, DROPPED])
def test_the_messages_of_one_read_are_checked_over_many_turns(kind):
    """One read brings up to 256 KiB, which are 32,768 of the shortest messages."""
    loop = Loop()
    connection, transport = connected(loop)
    turns = 50
    flood = (turns * IN_A_ROW) * message(OPENFLOW_13, kind)
    connection.data_received(hello(OPENFLOW_13) + flood + features(OPENFLOW_13, 9))
    for _ in range(turns):
        assert not transport.reading
        loop.turn()
    with pytest.raises(AssertionError):
        _ = connection.id  # its message is the last one
    loop.turn()
    assert connection.id == 9
    assert transport.reading


def test_served_switches_do_not_wait_for_other_connections():
    loop, echo = Loop(), message(OPENFLOW_13, ECHO_REQUEST, bytes(TURN_BYTES))
    served, answered = connected(loop)
    served.data_received(hello(OPENFLOW_13))
    loop.turn()
    loop.turn()
    served.served = True
    others = [connected(loop) for _ in range(10)]
    for other, _ in others:
        other.data_received(hello(OPENFLOW_13) + echo + echo)
    for turn in range(23):
        before = len(answered.sent)
        served.data_received(message(OPENFLOW_13, ECHO_REQUEST))
        loop.turn()
        assert len(answered.sent) == before + 8
        assert sum(len(transport.sent) // TURN_BYTES for _, transport in others) <= turn
    assert all(len(transport.sent) // TURN_BYTES == 2 for _, transport in others)


# A controller whose parser of ports in OpenFlow 1.3 fails.
FAILING = """
import struct, sys
from controller.openflow.dialects import OPENFLOW_13
def fail(*_):
    raise struct.error("broken on purpose")
OPENFLOW_13.parser.OFPPort.parser = fail
from controller import service
sys.argv = ["service", "polarfly", "q=2", "--listen", f"unix:{sys.argv[1]}", "--framework", "os-ken"]
sys.exit(service.main())
"""


@pytest.mark.skipif(not FRAMEWORKS["os-ken"].installed, reason="os-ken is not installed")
def test_a_message_that_the_parsers_refuse_ends_its_connection_and_nothing_else(tmp_path):
    path = tmp_path / "socket"
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", FAILING, str(path)],
        cwd=ROOT,
        env=os.environ | {VARIABLE: "os-ken"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            reports = (json.loads(line) for line in process.stdout)
            next(one for one in reports if one["event"] == "listening")
            unread, read = FakeSwitch(path, 1, 4, OPENFLOW_13), FakeSwitch(path, 2, 4, OPENFLOW_15)
            unread.connect()
            warned = next(one for one in reports if one["event"] == "warning")
            assert "broken on purpose" in warned["text"]
            read.connect()
            assert next(one for one in reports if one["event"] == "connected")
            unread.disconnect()
            read.disconnect()
        finally:
            process.kill()

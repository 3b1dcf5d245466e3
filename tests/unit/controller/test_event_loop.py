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

from controller.openflow.connections import IN_A_ROW
from controller.openflow.event_loop import Connection
from controller.openflow.frameworks import FRAMEWORKS, VARIABLE

ECHO_REQUEST, DROPPED = 2, 4


class Loop:
    """An event loop whose turns the test makes."""

    def __init__(self):
        self.soon = []

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


@pytest.mark.parametrize("kind", [ECHO_REQUEST, DROPPED])
def test_the_messages_of_one_read_are_checked_over_many_turns(kind):
    """One read brings up to 256 KiB, which are 32,768 of the shortest messages."""
    loop, transport = Loop(), Transport()
    connection = Connection(SimpleNamespace(loop=loop))
    connection.connection_made(transport)
    turns = 50
    flood = (turns * IN_A_ROW) * message(OPENFLOW_13, kind)
    connection.data_received(hello(OPENFLOW_13) + flood + features(OPENFLOW_13, 9))
    for _ in range(turns - 1):
        assert not transport.reading
        loop.turn()
    with pytest.raises(AssertionError):
        _ = connection.id  # its message is the last one
    loop.turn()
    assert connection.id == 9
    assert transport.reading


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

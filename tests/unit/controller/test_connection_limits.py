"""The listening socket, and what happens when as many connections are open as may be."""

import contextlib
import json
import socket
import subprocess
import sys

import pytest
from support.fixtures.documents import ROOT
from support.fixtures.fake_switch import FakeSwitch

from controller.openflow import connections
from controller.openflow.frameworks import FRAMEWORKS

INSTALLED = [name for name, one in FRAMEWORKS.items() if one.installed]
WAIT_S = 60  # of a busy machine; nothing waits so long otherwise
SWITCHES = 7  # of ER_2
DESCRIPTORS = 78  # so few that a controller cannot have more connections than switches


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_small_messages_are_sent_at_once(host):
    """Nagle's algorithm would hold them until the switch acknowledges those before."""
    try:
        listener = connections.listen(None, host, 0)
    except OSError as error:
        pytest.skip(f"this machine has no {host}: {error}")
    with listener, socket.create_connection(listener.getsockname()[:2]):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@contextlib.contextmanager
def controller(framework, path):
    """Starts a controller with few descriptors; returns its reports once it listens."""
    few = ("prlimit", f"--nofile={DESCRIPTORS}:{DESCRIPTORS}")
    words = ("polarfly", "q=2", "--framework", framework, "--listen", f"unix:{path}")
    with subprocess.Popen(
        [*few, sys.executable, "-W", "ignore", "-m", "controller.service", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            reports = (json.loads(line) for line in process.stdout)
            wait_for(reports, "listening")
            yield reports
        finally:
            process.kill()


def wait_for(reports, event):
    return next(one for one in reports if one["event"] == event)


@pytest.mark.parametrize("framework", INSTALLED)
def test_a_connection_beyond_the_limit_closes_no_served_switch(framework, tmp_path):
    path = tmp_path / "socket"
    switches = [FakeSwitch(path, number, 4) for number in range(1, SWITCHES + 1)]
    with controller(framework, path) as reports:
        for switch in switches:
            switch.connect()
        wait_for(reports, "installed")
        with socket.socket(socket.AF_UNIX) as newcomer, contextlib.suppress(ConnectionResetError):
            newcomer.settimeout(WAIT_S)
            newcomer.connect(str(path))
            assert newcomer.recv(8) == b""
        assert f"limit of {SWITCHES}" in wait_for(reports, "warning")["text"]
        assert all(switch.connected for switch in switches)
        switches[0].disconnect()
        wait_for(reports, "disconnected")
        switches[0].connect()  # to the free place
        wait_for(reports, "ready")
        for switch in switches:
            switch.disconnect()

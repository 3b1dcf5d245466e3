"""Connections of switches to the controller: how long one may take until it is served."""

import subprocess
import sys

from support.fixtures.documents import ROOT

# The handshake begins a second before the connection has to be served, and a byte of it comes at a time.
DRIPPED = """
import socket, ssl, time
from controller.openflow.connections import SwitchSocket
from controller.openflow.runtime import hub

switch, controller = socket.socketpair()
now = time.monotonic
time.monotonic = lambda: now() - 59
connection = SwitchSocket(controller, print)
time.monotonic = now

def drip():
    record = b"\\x16\\x03\\x01\\x02\\x00\\x01\\x00\\x01\\xfc\\x03\\x03" + bytes(500)
    for place in range(len(record)):
        switch.send(record[place : place + 1])
        hub.sleep(0.1)

hub.spawn(drip)
began = now()
try:
    connection.encrypt(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
except OSError as error:
    print(error)
assert now() - began < 20
"""


def test_a_handshake_that_comes_byte_by_byte_ends_in_time():
    words = [sys.executable, "-c", DRIPPED]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "60 s" in done.stdout

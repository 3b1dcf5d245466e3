"""The buffers of another process's packet sockets, while that process opens and closes others."""

import os
import subprocess
import sys

import pytest

from emulation.kernel.socket_buffers import enlarge_buffers
from topology.errors import MachineError

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="packet sockets are root's")

BUSY = """
import os, socket, sys, threading
if "packet" in sys.argv:
    packet = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
print("ready", flush=True)
while True:
    sockets = [socket.socket() for _ in range(20)]
    files = [open(os.devnull) for _ in range(20)]
    for held in sockets + files:
        held.close()
"""


@pytest.fixture
def busy(request):
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY, *request.param], stdout=subprocess.PIPE, text=True
    )
    process.stdout.readline()
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.parametrize("busy", [["packet"]], indirect=True)
def test_descriptors_that_a_process_closes_meanwhile_are_skipped(busy):
    for _ in range(200):
        enlarge_buffers(busy.pid, frames=100, frame_bytes=1000)


@pytest.mark.parametrize("busy", [[]], indirect=True)
def test_a_process_without_packet_sockets_is_an_error(busy):
    with pytest.raises(MachineError, match="no packet socket"):
        enlarge_buffers(busy.pid, frames=100, frame_bytes=1000)

"""Connections of switches over TLS: how long one may take until it is served."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time

import pytest
from support.fixtures.certificates import make_certificates
from support.fixtures.documents import ROOT

from controller.openflow.frameworks import FRAMEWORKS, QUICK_START

# A controller that serves a connection within two seconds, or never.
SERVICE = """
import sys
from controller.openflow import connections
connections.SERVED_WITHIN_S = 2.0
from controller import service
sys.exit(service.main())
"""
PORT = 16654
RECORD = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500)  # a client's first one begins


@pytest.mark.parametrize("framework", [name for name, one in FRAMEWORKS.items() if one.installed])
def test_a_handshake_that_comes_byte_by_byte_ends_in_time(framework, tmp_path):
    make_certificates(tmp_path, "fabric")
    words = ["polarfly", "q=2", "--framework", framework, "--listen", f"ssl:127.0.0.1:{PORT}"]
    words += [
        "--private-key",
        "fabric.key",
        "--certificate",
        "fabric.pem",
        "--ca-certificate",
        "fabric-ca.pem",
    ]
    service = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", SERVICE, *words],
        cwd=tmp_path,
        env=os.environ | QUICK_START | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with service:
        try:
            reports = (json.loads(line) for line in service.stdout)
            assert any(report["event"] == "listening" for report in reports)
            with socket.create_connection(("127.0.0.1", PORT)) as switch, contextlib.suppress(OSError):
                for place in range(len(RECORD)):  # longer than half a minute in all
                    switch.send(RECORD[place : place + 1])
                    time.sleep(0.1)
                raise AssertionError("the connection stayed open")
            assert any(report["event"] == "warning" for report in reports)
        finally:
            service.terminate()

"""Mutated messages of switches, for a running controller on each framework: it goes on serving others."""

from __future__ import annotations

import contextlib
import json
import random
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from support.builders.openflow_messages import MULTIPART_REQUEST, hello, kinds, message, samples
from support.fixtures.fake_switch import FakeSwitch

from controller.openflow.frameworks import FRAMEWORKS
from fuzz.controller import MAX_KIB, connection

COUNT = 4_000
PROBE_EVERY = 20
GRAPH = ("polarfly", "q=2", "--routing", "ugal-pf", "--link-rate", "1000000")
SWITCHES = 7
ECHO_REQUEST, ECHO_REPLY = 2, 3
PROBE = b"is anybody there?"
ANSWER_S = 10  # on a busy machine
ASKED_S = 0.1  # a connection that takes no switch's place is asked for no groups


class Service:
    """A running controller, and switches of its fabric that it serves meanwhile."""

    def __init__(self, framework: str, folder: Path) -> None:
        """Starts the controller; `wait` returns once it listens."""
        self.framework = framework
        self.path = folder / framework
        listen = ("--framework", framework, "--listen", f"unix:{self.path}")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "controller.service", *GRAPH, *listen],
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        # The place of the last one is free, for attacks to take.
        self.switches = [FakeSwitch(self.path, number, 4, 6) for number in range(1, SWITCHES)]

    def wait(self) -> None:
        """Waits until it listens, and connects the switches."""
        for line in self.process.stdout:
            if json.loads(line)["event"] == "listening":
                break
        self.reader = threading.Thread(target=self.process.stdout.read, daemon=True)
        self.reader.start()
        for switch in self.switches:
            switch.connect()

    def stop(self) -> None:
        """Ends the controller."""
        self.process.kill()
        self.reader.join()
        self.process.communicate()
        for switch in self.switches:
            switch.disconnect()

    def send(self, pieces: list[bytes]) -> None:
        """Sends as a switch what may be malformed, and takes what comes at once."""
        with socket.socket(socket.AF_UNIX) as switch, contextlib.suppress(OSError):
            switch.connect(str(self.path))
            switch.settimeout(ASKED_S)
            for number, piece in enumerate(pieces):
                switch.sendall(piece)
                if number == 0:
                    wait_for_requests(switch)
            switch.recv(4096)

    def answers(self) -> bool:
        """Returns whether another connection is served within some time."""
        with socket.socket(socket.AF_UNIX) as switch:
            switch.settimeout(ANSWER_S)
            try:
                switch.connect(str(self.path))
                switch.sendall(hello(6) + message(6, ECHO_REQUEST, PROBE))
                received = b""
                while not received.endswith(message(6, ECHO_REPLY, PROBE)):
                    received += switch.recv(4096) or b"closed"
                    if received.endswith(b"closed"):
                        return False
            except OSError:
                return False
        return True

    def kib(self) -> int:
        """Returns the most memory that it has taken."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0])


def wait_for_requests(switch: socket.socket) -> None:
    """Waits until a switch is asked for ports, groups and rules: replies without a request are refused."""
    received = b""
    with contextlib.suppress(TimeoutError):
        while list(kinds(received)).count(MULTIPART_REQUEST) < 3 and (more := switch.recv(4096)):
            received += more


def attack(count: int, rng: random.Random) -> Iterator[str]:
    """Yields the connections after which a controller has ended, does not answer, or has grown."""
    frameworks = [name for name, one in FRAMEWORKS.items() if one.installed]
    messages = {version: samples(version) for version in (4, 6)}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        services = [Service(name, Path(folder)) for name in frameworks]
        for service in services:
            stack.callback(service.stop)
        for service in services:
            service.wait()
        before = {service: service.kib() for service in services}
        for first in range(0, count, PROBE_EVERY):
            service = services[first // PROBE_EVERY % len(services)]
            sent = [connection(messages, rng) for _ in range(min(PROBE_EVERY, count - first))]
            for pieces in sent:
                service.send(pieces)
            if service.process.poll() is not None or not service.answers():
                yield f"{service.framework}: one of {[b''.join(pieces).hex()[:200] for pieces in sent]}"
                return
        for service in services:
            if service.kib() - before[service] > MAX_KIB:
                yield f"{service.framework}: memory grew by {service.kib() - before[service]} KiB"

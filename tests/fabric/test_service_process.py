"""The controller as a process of its own: where it listens, and how it ends."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys

import pytest

SERVICE = (sys.executable, "-m", "controller.service", "polarfly", "q=2")


def run_service(*words):
    return subprocess.run([*SERVICE, *words], capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def service(request):
    """A controller that listens where the test's parameter says, and the events so far."""
    process = subprocess.Popen([*SERVICE, "--listen", request.param], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if json.loads(line)["event"] == "listening":
            break
    yield process
    process.kill()
    process.communicate()


UNIX = "/tmp/polarlab-test-controller"


@pytest.fixture(autouse=True)
def no_socket():
    yield
    if os.path.exists(UNIX):
        os.unlink(UNIX)


@pytest.mark.parametrize("service", [f"unix:{UNIX}"], indirect=True)
def test_only_the_owner_can_open_its_unix_socket_and_it_has_no_other(service):
    assert stat.S_IMODE(os.stat(UNIX).st_mode) & 0o077 == 0
    listening = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout
    assert f"pid={service.pid}," not in listening


@pytest.mark.parametrize("service", ["tcp:127.0.0.1:16653"], indirect=True)
def test_on_tcp_it_listens_on_loopback_only(service):
    listening = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout
    ours = [line.split()[3] for line in listening.splitlines() if f"pid={service.pid}," in line]
    assert ours == ["127.0.0.1:16653"]
    with socket.create_connection(("127.0.0.1", 16653), timeout=5) as switch:
        assert switch.recv(8)[:2] == b"\x04\x00"  # an OpenFlow 1.3 hello


@pytest.mark.parametrize("service", ["tcp:127.0.0.1:16653"], indirect=True)
def test_a_second_one_on_the_same_address_says_so(service):
    second = run_service("--listen", "tcp:127.0.0.1:16653")
    assert second.returncode == 2
    assert "cannot listen on tcp:127.0.0.1:16653: Address already in use" in second.stderr
    assert service.poll() is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--listen", "tcp:0.0.0.0:16653"), "not a loopback address"),
        (("--listen", "tcp:localhost:16653"), "no IP address"),
        (("--listen", "udp:127.0.0.1:1"), "use unix:PATH or tcp:HOST:PORT"),
        (("--routing", "fastest"), "unknown routing 'fastest'"),
        (("--hosts", "0"), "hosts per router must be 1 to 254"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(words, said):
    done = run_service(*words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("service", [f"unix:{UNIX}"], indirect=True)
def test_nonsense_on_its_socket_does_not_stop_it(service):
    with socket.socket(socket.AF_UNIX) as switch:
        switch.connect(UNIX)
        switch.sendall(b"\x04\x00\x00\x08" + os.urandom(64))
        switch.settimeout(2)
        switch.recv(64)
    with socket.socket(socket.AF_UNIX) as switch:
        switch.connect(UNIX)
        assert switch.recv(8)[:2] == b"\x04\x00"
    assert service.poll() is None


@pytest.mark.parametrize("service", [f"unix:{UNIX}"], indirect=True)
def test_it_ends_when_it_is_asked_to(service):
    service.send_signal(signal.SIGTERM)
    assert service.wait(timeout=10) in (-signal.SIGTERM, 0, 143)

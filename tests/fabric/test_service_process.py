"""The controller's process: its listening addresses, its errors, and its end."""

import contextlib
import json
import os
import signal
import socket
import ssl
import stat
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import TIMEOUT_S
from support.fixtures.certificates import make_certificates

from controller.service import main

SERVICE = (sys.executable, "-m", "controller.service", "polarfly", "q=2")


def run_service(*words):
    return subprocess.run([*SERVICE, *words], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


@contextlib.contextmanager
def listening(*words, **options):
    """Starts a controller and waits until it listens."""
    process = subprocess.Popen([*SERVICE, *words], stdout=subprocess.PIPE, text=True, **options)
    try:
        for line in process.stdout:
            if json.loads(line)["event"] == "listening":
                break
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def unix(tmp_path_factory):
    """The path of a socket."""
    return str(tmp_path_factory.mktemp("service") / "socket")


@pytest.fixture(scope="module")
def service(request, unix):
    """A controller that listens where the test's parameter says; `unix:` stands for the socket."""
    address = request.param
    with listening("--listen", f"unix:{unix}" if address == "unix:" else address) as process:
        yield process
    Path(unix).unlink(missing_ok=True)


@pytest.mark.parametrize("service", ["unix:"], indirect=True)
def test_only_the_owner_can_open_its_unix_socket_and_it_has_no_other(service, unix):
    assert stat.S_IMODE(os.stat(unix).st_mode) & 0o077 == 0
    listening = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout
    assert f"pid={service.pid}," not in listening


@pytest.mark.parametrize("service", ["tcp:127.0.0.1:16654"], indirect=True)
def test_on_tcp_it_listens_on_loopback_only(service):
    listening = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout
    ours = [line.split()[3] for line in listening.splitlines() if f"pid={service.pid}," in line]
    assert ours == ["127.0.0.1:16654"]
    with socket.create_connection(("127.0.0.1", 16654), timeout=5) as switch:
        assert switch.recv(8)[:2] == b"\x06\x00"  # an OpenFlow 1.5 hello


@pytest.mark.parametrize("service", ["tcp:127.0.0.1:16654"], indirect=True)
def test_a_second_one_on_the_same_address_says_so(service):
    second = run_service("--listen", "tcp:127.0.0.1:16654")
    assert second.returncode == 2
    assert "tcp:127.0.0.1:16654: Address already in use" in second.stderr
    assert service.poll() is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--listen", "tcp:0.0.0.0:16653"), "must be a loopback address, got 0.0.0.0"),
        (("--listen", "tcp:localhost:16653"), "must be an IP address, got 'localhost'"),
        (("--listen", "udp:127.0.0.1:1"), "must be unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT"),
        (("--listen", "ssl:127.0.0.1:16653"), "needs --private-key, --certificate and --ca-certificate"),
        (("--certificate", "x"), "must be ssl:HOST:PORT"),
        (("--routing", "fastest"), "got 'fastest'"),
        (("--hosts", "0"), "hosts per router must be 1 to 254"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(words, said, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["controller.service", "polarfly", "q=2", *words])
    assert main() == 2
    errors = capsys.readouterr().err
    assert said in errors
    assert "Traceback" not in errors


def test_certificates_that_cannot_be_read_are_wrong_use_too():
    files = ("--private-key", "/nowhere/k", "--certificate", "/nowhere/c", "--ca-certificate", "/nowhere/a")
    done = run_service("--listen", "ssl:127.0.0.1:16653", *files)
    assert done.returncode == 2
    assert "certificates" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("service", ["unix:"], indirect=True)
def test_random_bytes_on_its_socket_do_not_stop_it(service, unix):
    with socket.socket(socket.AF_UNIX) as switch:
        switch.connect(unix)
        switch.sendall(b"\x04\x00\x00\x08" + os.urandom(64))
        switch.settimeout(2)
        switch.recv(64)
    with socket.socket(socket.AF_UNIX) as switch:
        switch.connect(unix)
        assert switch.recv(8)[:2] == b"\x06\x00"
    assert service.poll() is None


@pytest.mark.parametrize("service", ["unix:"], indirect=True)
def test_it_ends_when_it_is_asked_to(service):
    service.send_signal(signal.SIGTERM)
    assert service.wait(timeout=10) in (-signal.SIGTERM, 0, 143)


def test_ctrl_c_ends_it_without_a_traceback(tmp_path):
    with listening("--listen", f"unix:{tmp_path / 'socket'}", stderr=subprocess.PIPE) as process:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=10)
    assert process.returncode == 130
    assert errors == ""


def test_a_missing_parameter_is_named_in_this_programs_syntax(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["controller.service", "polarfly", "--listen", "unix:/nowhere"])
    assert main() == 2
    assert "q=VALUE" in capsys.readouterr().err


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder, "fabric")
    make_certificates(folder, "stranger")
    return folder


@pytest.fixture(scope="module")
def tls_service(certificates):
    ours = ("--private-key", "fabric.key", "--certificate", "fabric.pem")
    theirs = ("--ca-certificate", "fabric-ca.pem")
    words = ("--listen", "ssl:127.0.0.1:16653", *ours, *theirs)
    with (
        open(certificates / "errors", "w") as errors,
        listening(*words, cwd=certificates, stderr=errors) as process,
    ):
        yield process


def hello_over_tls(certificates, who):
    """Connects as a switch with somebody's certificate, or none, and returns the first bytes that come."""
    context = ssl.create_default_context(cafile=str(certificates / "fabric-ca.pem"))
    context.check_hostname = False
    if who:
        context.load_cert_chain(certificates / f"{who}.pem", certificates / f"{who}.key")
    plain = socket.create_connection(("127.0.0.1", 16653), timeout=5)
    with plain, context.wrap_socket(plain) as switch:
        return switch.recv(8)


def test_over_tls_a_switch_with_a_certificate_of_the_authority_is_served(tls_service, certificates):
    assert hello_over_tls(certificates, "fabric")[:2] == b"\x06\x00"


@pytest.mark.parametrize("who", ["stranger", None])
def test_over_tls_wrong_certificates_are_refused_with_a_warning(tls_service, certificates, who):
    with contextlib.suppress(ssl.SSLError, ConnectionResetError):
        assert hello_over_tls(certificates, who) == b""
    reports = map(json.loads, tls_service.stdout)
    assert "was refused" in next(report["text"] for report in reports if report["event"] == "warning")
    assert hello_over_tls(certificates, "fabric")[:2] == b"\x06\x00"  # and it goes on


def test_over_tls_plain_connections_are_not_answered(tls_service):
    with socket.create_connection(("127.0.0.1", 16653), timeout=5) as switch:
        switch.sendall(b"\x04\x00\x00\x08\x00\x00\x00\x01")
        with contextlib.suppress(ConnectionResetError):
            assert not switch.recv(8).startswith(b"\x04")


@pytest.mark.parametrize("sent", [b"", b"x"])
def test_over_tls_connections_that_are_reset_before_they_are_accepted_end_nothing(
    tls_service, certificates, sent
):
    for _ in range(100):
        with socket.create_connection(("127.0.0.1", 16653), timeout=5) as switch:
            switch.sendall(sent)
            switch.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert hello_over_tls(certificates, "fabric")[:2] == b"\x06\x00"


def test_unfinished_handshakes_make_room_without_a_traceback(tls_service, certificates):
    with contextlib.ExitStack() as held:
        for _ in range(200):  # more than may be open
            switch = held.enter_context(socket.create_connection(("127.0.0.1", 16653), timeout=5))
            switch.sendall(b"\x16\x03\x01\x02")  # a TLS record begins
        assert hello_over_tls(certificates, "fabric")[:2] == b"\x06\x00"
    assert (certificates / "errors").read_text() == ""

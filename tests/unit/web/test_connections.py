"""Connections of the live page: those who never finish a request keep nobody out."""

import asyncio
import contextlib
import http.client
import resource
import socket
import ssl
import subprocess
import sys
import time

import pytest
import uvicorn
from support.fixtures.taken_over_page import web_processes
from support.fixtures.web_requests import token_of

from polarlab.web.address import WebAddress
from polarlab.web.page_server import PageServer
from polarlab.web.service import connections
from polarlab.web.service.connections import BoundedProtocol
from polarlab.web.service.door import DoorLoop

HALF = b"GET /api/state HTTP/1.1\r\nHost: localhost\r\n"
MANY = 600  # connections, more than there are places
PATIENCE_S = 20.0
TRIES = 20


@pytest.fixture(autouse=True, scope="module")
def _enough_descriptors():
    """This process may open many connections."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, before[1]), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@contextlib.contextmanager
def own_page(*files, **options):
    """Gives a page, its web process, and the list of what is reported about it."""
    before, told = {process.pid for process in web_processes()}, []
    with PageServer(WebAddress("localhost", 0, *files, **options), told.append) as page:
        [process] = [one for one in web_processes() if one.pid not in before]
        yield page, process, told


@pytest.fixture(scope="module")
def own():
    """A page that no other test uses, and the list of what is reported about it."""
    with own_page() as (page, _, told):
        yield page, told


def asked(page, *, tls=None, delay_s=0.0):
    """Returns the beginning of the answer to a request that is right; empty if the connection is lost.

    `delay_s` is what passes between the steps of a client that is far away.
    """
    request = HALF + f"Authorization: Bearer {token_of(page.url)}\r\nConnection: close\r\n\r\n".encode()
    with (
        contextlib.suppress(OSError),
        socket.create_connection(("localhost", page.port), PATIENCE_S) as plain,
    ):
        time.sleep(delay_s)
        with tls.wrap_socket(plain, server_hostname="localhost") if tls else plain as connection:
            connection.sendall(request)
            return connection.recv(100)
    return b""


def tries_of(page, **options):
    """Returns how many tries a request takes until it is answered."""
    for tries in range(1, TRIES + 1):
        if asked(page, **options).startswith(b"HTTP/1.1 503"):  # no fabric is up
            return tries
    raise AssertionError(f"not answered in {TRIES} tries")


@pytest.mark.parametrize("beginning", [b"", b"\x16\x03\x01\x02\x00\x01"])
def test_unfinished_handshakes_take_no_place_from_others(certificate, beginning):
    with own_page(*certificate) as (page, process, told), contextlib.ExitStack() as opened:
        for _ in range(MANY):
            connection = opened.enter_context(socket.create_connection(("localhost", page.port), PATIENCE_S))
            with contextlib.suppress(OSError):  # its place is another's already
                connection.sendall(beginning)
        trusted = ssl.create_default_context(cafile=str(certificate[0]))
        began_s = time.monotonic()
        tries_of(page, tls=trusted)
        assert time.monotonic() - began_s < connections.HEAD_TIMEOUT_S  # none of them had to give up first
        assert process.num_fds() < 512
    assert len(told) == 1  # that it is ready; no log of an error


@pytest.mark.parametrize("token", ["", "a-secret"], ids=["open", "token"])
def test_bodies_that_do_not_come_take_no_place_from_others(token):
    head = b"POST /api/fail HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n" % token.encode()
    head += b"Content-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n"
    with own_page(token=token) as (page, _, _), contextlib.ExitStack() as opened:
        for _ in range(MANY):
            connection = opened.enter_context(socket.create_connection(("localhost", page.port), PATIENCE_S))
            with contextlib.suppress(OSError):  # it gets no place
                connection.sendall(head)
                connection.recv(100)  # its body is awaited
        tries_of(page)


SHORT_OF_DESCRIPTORS = """
import asyncio, os, resource, socket, uvicorn
from polarlab.web.service.connections import BoundedProtocol
from polarlab.web.service.door import DoorLoop

async def answer(_scope, _receive, send):
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})

async def serve():
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(answer, http=BoundedProtocol, ws="none", log_level="error"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 40, hard))
    print(listener.getsockname()[1], flush=True)
    await serving

with asyncio.Runner(loop_factory=DoorLoop) as runner:
    runner.run(serve())
"""


def test_a_process_that_has_no_more_descriptors_makes_room():
    command, pipe = [sys.executable, "-c", SHORT_OF_DESCRIPTORS], subprocess.PIPE
    with contextlib.ExitStack() as opened, subprocess.Popen(command, stdout=pipe, stderr=pipe) as server:
        try:
            address = ("127.0.0.1", int(server.stdout.readline()))
            for _ in range(100):
                opened.enter_context(socket.create_connection(address, PATIENCE_S))
            began_s, answer = time.monotonic(), b""
            while not answer:
                assert time.monotonic() - began_s < connections.HEAD_TIMEOUT_S
                with (
                    contextlib.suppress(OSError),
                    socket.create_connection(address, PATIENCE_S) as connection,
                ):
                    connection.sendall(HALF + b"\r\n")
                    answer = connection.recv(100)
            assert b" 204 " in answer
        finally:
            server.kill()
        assert server.stderr.read() == b""


FLOOD = """
import collections, socket, sys, time
port, begin, kept = int(sys.argv[1]), time.monotonic(), collections.deque(maxlen=1000)
print("begun", flush=True)
for number in range(10 ** 9):
    if (elapsed := time.monotonic() - begin) > 20:
        break
    if number > 4000 * elapsed:
        time.sleep(0.001)
        continue
    one = socket.socket()
    one.setblocking(False)
    one.connect_ex(("127.0.0.1", port))
    kept.append(one)
print(number, flush=True)
"""


@contextlib.contextmanager
def flooded(page):
    """Opens 4,000 connections a second during the block, which send nothing."""
    command = [sys.executable, "-W", "ignore", "-c", FLOOD, str(page.port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as flood:
        try:
            flood.stdout.readline()
            time.sleep(0.3)  # all places are taken
            yield
        finally:
            flood.kill()


def test_a_flood_does_not_keep_out_those_who_are_far_away():
    with own_page() as (page, process, told), flooded(page):
        for _ in range(3):
            tries_of(page, delay_s=0.1)
        assert process.num_fds() < 512
    assert len(told) == 1


def test_a_connection_that_has_shown_the_token_outlives_a_flood():
    with (
        own_page() as (page, _, _),
        contextlib.closing(http.client.HTTPConnection("localhost", page.port, timeout=PATIENCE_S)) as mine,
    ):

        def read():
            mine.request("GET", "/", headers={"Authorization": f"Bearer {token_of(page.url)}"})
            return mine.getresponse().read()

        first, mine.auto_open = read(), False
        with flooded(page):
            assert [read() for _ in range(3)] == [first] * 3


@pytest.mark.parametrize("beginning", [b"", b"G", HALF])
def test_unfinished_requests_take_no_place_from_others(client, beginning):
    with contextlib.ExitStack() as opened:
        for _ in range(MANY):
            connection = opened.enter_context(
                socket.create_connection(("127.0.0.1", client.port), PATIENCE_S)
            )
            with contextlib.suppress(OSError):  # its place is another's already
                connection.sendall(beginning)
        assert [client("GET", path)[0] for path in ("/", "/api/state", "/api/no")] == [200, 200, 404]


def test_refused_requests_keep_no_place(client):
    refused = HALF + b"\r\n"
    with socket.create_connection(("127.0.0.1", client.port), PATIENCE_S) as connection:
        connection.sendall(refused)
        answer = b""
        while more := connection.recv(4096):
            answer += more
    assert b" 401 " in answer


def test_a_stream_of_events_keeps_its_place(client):
    with socket.create_connection(("127.0.0.1", client.port), PATIENCE_S) as stream:
        head = f"GET /api/stream?token={client.token} HTTP/1.1\r\nHost: localhost\r\n\r\n"
        stream.sendall(head.encode())
        assert b" 200 " in stream.recv(4096)
        with contextlib.ExitStack() as opened:
            for _ in range(MANY):
                opened.enter_context(socket.create_connection(("127.0.0.1", client.port), PATIENCE_S))
            assert client("GET", "/api/state")[0] == 200
        stream.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                assert stream.recv(1 << 20)  # else it has ended


def served(ask):
    """Serves an application that answers everything, and returns what `ask(port)` does in a thread."""

    async def answer(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async def serve():
        config = uvicorn.Config(answer, http=BoundedProtocol, ws="none", lifespan="off", log_level="error")
        listener = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            return await asyncio.to_thread(ask, listener.getsockname()[1])
        finally:
            server.should_exit = True
            await serving

    with asyncio.Runner(loop_factory=DoorLoop) as runner:
        return runner.run(serve())


@pytest.mark.parametrize("before", [b"", HALF + b"\r\n"], ids=["first", "second"])
@pytest.mark.parametrize("beginning", [b"G", HALF])
def test_a_head_that_does_not_come_ends_its_connection(monkeypatch, before, beginning):
    monkeypatch.setattr(connections, "HEAD_TIMEOUT_S", 0.1)

    def ask(port):
        with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection:
            if before:
                connection.sendall(before)
                assert b" 200 " in connection.recv(4096)
            connection.sendall(beginning)
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(4096) == b""

    served(ask)


BAD_CHUNK = b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n"
MALFORMED = {
    "body": b"POST /api/fail HTTP/1.1\r\n%s" + BAD_CHUNK,
    "body of a stream": b"GET /api/stream HTTP/1.1\r\n%s" + BAD_CHUNK,
    "body of a head": b"HEAD /api/state HTTP/1.1\r\n%s" + BAD_CHUNK,
    "body in pieces": b"POST /api/fail HTTP/1.1\r\n%sTransfer-Encoding: chunked\r\n\r\n|1\r\n{\r\n|\xff\r\n",
    "body after the answer": b"GET / HTTP/1.1\r\n%sTransfer-Encoding: chunked\r\n\r\n|xyz\r\n",
    "second request": b"GET / HTTP/1.1\r\n%s\r\n|\0\0\r\n\r\n",
    "second request at once": b"GET / HTTP/1.1\r\n%s\r\n\0\0\r\n\r\n",
    "expected body": b"POST /api/fail HTTP/1.1\r\n%sExpect: 100-continue\r\n" + BAD_CHUNK,
}


@pytest.mark.parametrize("host", ["localhost", "evil.example"])
@pytest.mark.parametrize("known", [True, False], ids=["token", "no-token"])
def test_malformed_requests_write_no_traceback(own, host, known):
    page, told = own
    head = f"Host: {host}\r\nContent-Type: application/json\r\n"
    head += f"Authorization: Bearer {token_of(page.url)}\r\n" if known else ""
    for request in MALFORMED.values():
        with (
            socket.create_connection(("localhost", page.port), PATIENCE_S) as connection,
            contextlib.suppress(BrokenPipeError, ConnectionResetError),  # refused at the first piece
        ):
            for piece in request.replace(b"%s", head.encode()).split(b"|"):
                connection.sendall(piece)
                time.sleep(0.02)  # else they come as one
            assert connection.recv(100).startswith(b"HTTP/1.1 ")
            while connection.recv(1 << 16):
                pass
    assert asked(page).startswith(b"HTTP/1.1 503")
    assert len(told) == 1, told[1].log.read_text()

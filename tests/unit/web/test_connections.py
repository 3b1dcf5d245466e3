"""Connections of the live page: those who never finish a request keep nobody out."""

import asyncio
import contextlib
import socket

import pytest
import uvicorn

from polarlab.web.service import connections
from polarlab.web.service.connections import MOST_CONNECTIONS, BoundedProtocol, HeadTimingLoop

HALF = b"GET /api/state HTTP/1.1\r\nHost: localhost\r\n"
PATIENCE_S = 20.0


@pytest.mark.parametrize("beginning", [b"", b"G", HALF])
def test_unfinished_requests_take_no_place_from_others(client, beginning):
    with contextlib.ExitStack() as opened:
        for _ in range(300):
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
            for _ in range(MOST_CONNECTIONS + 20):
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

    with asyncio.Runner(loop_factory=HeadTimingLoop) as runner:
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

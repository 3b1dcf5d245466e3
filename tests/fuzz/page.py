"""Hostile HTTP requests to the live page of a real fabric of ER_2, with the token and without."""

from __future__ import annotations

import random
import re
import socket
import time
from collections.abc import Iterator
from urllib.parse import quote, urlsplit

from support.fixtures.attacked_page import Ground, ground
from support.fixtures.taken_over_page import web_processes
from support.fixtures.web_requests import ask, token_of

from polarlab.api.verb import Verb
from polarlab.web.actions import actions

COUNT = 20_000
NEEDS_SWITCHES = True
_TIMEOUT_S = 20.0
_MAX_EXTRA_BYTES = 64 << 20
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
_DECLARED = frozenset((200, 303, 400, 401, 403, 404, 405, 408, 409, 413, 415, 421))
_REFUSALS = frozenset((400, 401, 403, 413, 415, 421))  # of those who have no token
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "get", "X" * 300)
_PATHS = (
    *("/", "/main.js", "/vendor/uplot.js", "/metrics", "/openapi.json", "/api/fabric", "/api/state"),
    *(
        "/api/timeline",
        "/api/stream",
        "/api",
        "/api/",
        "//",
        "/../setup.cfg",
        "/%2e%2e/%2e%2e/etc/shadow",
        "/.git",
    ),
    *(
        "/vendor/../../service/app.py",
        "/api/results/..%2f..%2fetc",
        "/caf%c3%a9",
        "/%00",
        "/%ff",
        "*",
        "http://x/",
    ),
)
_HOSTS = ("evil.example", "[::1].evil", "127.0.0.1:80:evil", "", "localhost\tx", "10.0.0.1", "x" * 300, "a,b")
_ODD = (
    *("Sec-Fetch-Site: cross-site", "Origin: http://evil.example", "Origin: null", "Upgrade: websocket"),
    *(
        "Content-Length: 5",
        "Content-Length: -1",
        "Content-Length: 1e3",
        "Transfer-Encoding: chunked",
        "Expect: x",
    ),
    *(
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked\r\n\r\nxyz",
        "Content-Type: text/plain",
        'Cookie: {"a": 1}; =;;',
        "Range: bytes=0-",
    ),
    *(
        "Last-Event-ID: 9-9",
        "Last-Event-ID: \xff",
        "Authorization: Bearer",
        "Authorization: Basic eDp5",
        "X: " + "y" * 9000,
    ),
    *(
        "X-Forwarded-For: 127.0.0.1",
        "X-HTTP-Method-Override: DELETE",
        " folded: x",
        "no colon",
        "X\0: y",
        "Host: localhost",
    ),
)


def attack(count: int, rng: random.Random) -> Iterator[str]:
    """Sends requests, and yields a line for each that got at something or did harm."""
    with ground(rng) as on:
        url = str(on.fabric.url)
        while ask(url, "GET", "api/state")[0] != 200:
            time.sleep(0.01)
        [process] = web_processes()
        before = process.memory_info().rss
        for _ in range(count):
            yield from _tried(on, url)
        on.fabric.restore("all")
        if ask(url, "GET", "api/state")[0] != 200:
            yield "the page does not answer any more"
        if [one.pid for one in web_processes()] != [process.pid]:
            yield "the web process has ended"
        elif process.memory_info().rss - before > _MAX_EXTRA_BYTES:
            yield f"the web process has grown by {(process.memory_info().rss - before) >> 20} MiB"
        yield from on.grown()


def _tried(on: Ground, url: str) -> Iterator[str]:
    """Sends a request, and judges what comes back."""
    knows = on.rng.random() < 0.8
    request = _request(on, token_of(url) if knows else "")
    try:
        answer = _answer(int(urlsplit(url).port or 0), request)
    except TimeoutError:
        yield f"no end of the answer to {request[:200]!r}"
        return
    statuses = [int(status) for status in _STATUS.findall(answer)]
    if lost := on.lost(answer):
        yield f"{lost} by {request[:300]!r}"
    if not set(statuses) <= (_DECLARED if knows else _REFUSALS):
        yield f"{statuses} of {request[:300]!r}: {answer[-200:]!r}"


def _request(on: Ground, token: str) -> bytes:
    """Returns the bytes of a request, which may be none."""
    rng = on.rng
    if rng.random() < 0.5:
        method, path, body = _of_action(on, rng.choice([*actions().values()]))
    else:
        method, path, body = rng.choice(_METHODS), rng.choice(_PATHS), b""
        path += rng.choice(["", "", f"?{quote(on.text())}={quote(on.text())}", "?" + "a=b&" * 500])
    host = rng.choice(_HOSTS) if rng.random() < 0.05 else "localhost"
    head = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close"]
    head += [f"Authorization: Bearer {token}"] if token else []
    if body:
        head += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    if rng.random() < 0.2:
        head.insert(rng.randrange(1, len(head) + 1), rng.choice(_ODD))
    request = "\r\n".join(head).encode("latin-1", "replace") + b"\r\n\r\n" + body
    if rng.random() < 0.1:
        bent = bytearray(request)
        for _ in range(rng.randrange(1, 4)):
            bent[rng.randrange(len(bent))] = rng.randrange(256)
        request = bytes(bent)
    return request[: rng.randrange(len(request))] if rng.random() < 0.03 else request


def _of_action(on: Ground, action: Verb) -> tuple[str, str, bytes]:
    """Returns method, path and body of a request for an action."""
    arguments = on.arguments(action) if action.reads else {}
    values = arguments if isinstance(arguments, dict) else {}
    path = re.sub(r"\{(\w+)\}", lambda name: quote(str(values.pop(name[1], "s1"))), action.http.path)
    if action.reads:
        words = [
            f"{quote(str(key))}={quote(str(value).encode(errors='replace'))}" for key, value in values.items()
        ]
        return "GET", f"{path}?{'&'.join(words)}", b""
    if action.http.method == "DELETE":
        return "DELETE", path, b""
    return action.http.method, path, on.content(action)


def _answer(port: int, request: bytes) -> bytes:
    """Returns what comes back until the end, or until the first events of a stream."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), _TIMEOUT_S) as connection:
        try:
            connection.sendall(request)
            if not _whole(request):
                connection.shutdown(socket.SHUT_WR)
            while more := connection.recv(1 << 16):
                answer += more
                if b"text/event-stream" in answer:
                    break
        except (ConnectionResetError, BrokenPipeError):  # refused before all of it was sent
            pass
    return answer


def _whole(request: bytes) -> bool:
    """Returns whether an answer must come, after which the connection ends; else no more is sent."""
    head, end, body = request.partition(b"\r\n\r\n")
    length = re.search(rb"\r\nContent-Length: (\d+)", head)
    closes = re.search(rb"\r\nConnection: close(\r\n[^ \t]|$)", head)  # no folded line adds to it
    right = closes and b"Transfer-Encoding" not in head
    return (
        bool(end)
        and bool(right)
        and head.count(b"Content-Length") <= 1
        and int(length[1] if length else 0) == len(body)
    )

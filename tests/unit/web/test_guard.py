"""The guard of the live page: who may ask, from where, and how much."""

import asyncio
import json
import socket

import pytest
from starlette.responses import PlainTextResponse

from polarlab.web.address import WebAddress
from polarlab.web.page_server import PageServer
from polarlab.web.service import guard
from polarlab.web.service.guard import MOST_BODY_BYTES, Guard, Rules

ELEMENTS = {"elements": "link:s1-s10"}


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1", "[::1]:8642", "LOCALHOST"])
def test_this_machines_names_pass_on_any_port_as_it_may_be_forwarded(client, host):
    assert client("GET", "/api/state", Host=host)[0] == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", "localhost.evil"])
def test_other_names_are_refused_so_that_none_can_be_made_to_point_here(client, host):
    status, _, body = client("GET", "/api/state", Host=host)
    assert status == 421
    assert "Host" in json.loads(body)["error"]


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "https://localhost:1", "null", "http://localhost:1"]
)
def test_requests_of_other_sites_are_refused(client, origin):
    assert client("POST", "/api/fail", ELEMENTS, Origin=origin)[0] == 403
    assert client("GET", "/api/stream", Origin=origin)[0] == 403


def test_the_pages_own_requests_pass(client):
    host = f"localhost:{client.port}"
    answer = client("POST", "/api/fail", ELEMENTS, Host=host, Origin=f"http://{host}")
    assert answer[0] == 409  # of finished results
    assert client("POST", "/api/fail", ELEMENTS, Sec_Fetch_Site="cross-site")[0] == 403


def test_a_form_of_another_site_cannot_be_sent(client):
    body = b'{"elements": "link:s1-s10"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert client("POST", "/api/fail", body, Content_Type=kind)[0] == 415


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"[]", 400),
        (b"{}", 400),
        (b'{"elements": 3}', 400),
        (b'{"elements": ""}', 400),
        (b'{"elements": "s1", "more": 1}', 400),
        (b'"' + b"x" * MOST_BODY_BYTES + b'"', 413),
    ],
)
def test_bad_bodies_get_a_clear_status(client, body, status):
    answer = client("POST", "/api/fail", body, Content_Type="application/json")
    assert answer[0] == status
    assert json.loads(answer[2])["error"]


def test_a_body_in_endless_pieces_is_refused(client):
    with socket.create_connection(("127.0.0.1", client.port), 10) as connection:
        connection.sendall(
            b"POST /api/fail HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Authorization: Bearer %s\r\nTransfer-Encoding: chunked\r\n\r\n" % client.token.encode()
        )
        piece = b"1000\r\n" + b"x" * 0x1000 + b"\r\n"
        answer = b""
        for _ in range(MOST_BODY_BYTES // 0x1000 + 2):
            connection.sendall(piece)
        answer = connection.recv(100)
    assert b" 413 " in answer


def asked(application, body, rules=None, headers=()):
    """Returns the status that a guard gives a POST whose body is a list of pieces; None stands for ever."""
    statuses = []

    async def receive():
        piece = body.pop(0) if body else None
        if piece is None:
            await asyncio.sleep(60)
        return {"type": "http.request", "body": piece, "more_body": bool(body)}

    async def send(message):
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json"), *headers],
    }
    asyncio.run(Guard(application, rules or Rules())(scope, receive, send))
    return statuses


def test_a_slow_body_is_refused(monkeypatch):
    monkeypatch.setattr(guard, "BODY_TIMEOUT_S", 0.05)
    assert asked(PlainTextResponse("passed"), [b"{", None, b"}"]) == [408]
    assert asked(PlainTextResponse("passed"), [b"{", b"}"]) == [200]


@pytest.fixture(scope="module")
def locked():
    """A page that needs a token."""
    with PageServer(WebAddress("127.0.0.1", 0, token="a-secret")) as page:
        yield page


def test_without_the_token_nobody_is_let_in(client, locked):
    ask = type(client)(locked)
    ask.token = ""
    for path in ("/", "/api/state", "/metrics", "/main.js", "/api/stream", "/openapi.json"):
        assert ask("GET", path)[0] == 401
    assert ask("GET", "/api/state", Authorization="Bearer wrong")[0] == 401
    assert ask("GET", "/api/state", Cookie="polarlab=wrong")[0] == 401
    assert ask("GET", "/?token=wrong")[0] == 401


def test_the_token_is_exchanged_for_a_cookie_that_scripts_cannot_read(client, locked):
    ask = type(client)(locked)
    ask.token = ""
    assert locked.url.endswith("?token=a-secret")
    status, headers, _ = ask("GET", "/?token=a-secret")
    assert (status, headers["location"]) == (303, "/")
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert ask("GET", "/", Cookie=cookie.partition(";")[0])[0] == 200
    assert ask("GET", "/api/timeline", Authorization="Bearer a-secret")[0] == 200
    assert "a-secret" not in repr(WebAddress("h", 1, token="a-secret"))

"""The guard of the live page: who may ask, from where, and how much."""

import asyncio
import json
import socket

import pytest
from starlette.responses import PlainTextResponse

from polarlab.web.address import WebAddress, parse_address
from polarlab.web.page_server import PageServer
from polarlab.web.service import guard
from polarlab.web.service.guard import MAX_BODY_BYTES, Guard, Rules
from polarlab.web.service.places import KEEP_PLACE
from topology.errors import ParameterError

ELEMENTS = {"elements": "link:s1-s10"}


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1", "[::1]:8642", "LOCALHOST"])
def test_this_machines_names_pass_on_any_port_as_it_may_be_forwarded(client, host):
    assert client("GET", "/api/state", Host=host)[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", "localhost.evil"),
        *(
            "[::1].evil.com",
            "[::1]evil",
            "127.0.0.1:80:evil",
            "localhost:",
            "localhost@evil.com",
            "[::1",
            "localhost evil",
        ),
    ],
)
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
    for path in ("/api/state", "/main.js", "/metrics"):
        assert client("GET", path, Sec_Fetch_Site="same-origin")[0] == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "odd"])
def test_what_another_sites_page_asks_for_never_reaches_the_fabric(client, site):
    assert client("POST", "/api/fail", ELEMENTS, Sec_Fetch_Site=site)[0] == 403
    for path in ("/api/state", "/main.js", "/", "/api/switches/s1"):
        status, headers, _ = client("GET", path, Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors")
        assert status == 403
        assert headers["cross-origin-resource-policy"] == "same-origin"


def test_a_link_on_another_site_opens_the_page(client):
    link = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    assert client("GET", "/", **link)[0] == 200
    assert client("GET", "/api/state", **link)[0] == 403
    assert client("GET", "/", **{**link, "Sec_Fetch_Dest": "iframe"})[0] == 403


@pytest.mark.parametrize("host", ["localhost", "evil.example"])
def test_an_upgrade_to_a_websocket_is_refused_after_the_host_is_checked(client, host):
    headers = {"Host": host, "Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13"}
    status, _, body = client("GET", "/api/stream", Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==", **headers)
    assert status == (400 if host == "localhost" else 421)
    assert json.loads(body)["error"]


def test_every_answer_forbids_what_the_page_does_not_need(client):
    for path, headers in (("/", {}), ("/no", {}), ("/", {"Host": "evil"})):
        answered = client("GET", path, **headers)[1]
        policy = answered["content-security-policy"]
        for rule in ("default-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"):
            assert rule in policy
        assert answered["cross-origin-resource-policy"] == "same-origin"


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
        (b'"' + b"x" * MAX_BODY_BYTES + b'"', 413),
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
        for _ in range(MAX_BODY_BYTES // 0x1000 + 2):
            connection.sendall(piece)
        answer = connection.recv(100)
    assert b" 413 " in answer


def asked(application, body, rules=None, headers=(), keep=lambda: None):
    """Returns the status that a guard gives a POST whose body is a list of pieces; None stands for ever.

    `keep` is called to keep the connection's place.
    """
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
        "headers": [(b"content-type", b"application/json"), *(headers or [(b"host", b"localhost")])],
        "state": {KEEP_PLACE: keep},
    }
    asyncio.run(Guard(application, rules or Rules())(scope, receive, send))
    return statuses


def test_a_slow_body_is_refused(monkeypatch):
    monkeypatch.setattr(guard, "BODY_TIMEOUT_S", 0.05)
    assert asked(PlainTextResponse("passed"), [b"{", None, b"}"]) == [408]
    assert asked(PlainTextResponse("passed"), [b"{", b"}"]) == [200]


def test_a_place_is_kept_for_the_token_once_the_whole_request_is_there(monkeypatch):
    monkeypatch.setattr(guard, "BODY_TIMEOUT_S", 0.05)
    kept, application = [], PlainTextResponse("passed")
    shown = [(b"host", b"localhost"), (b"authorization", b"Bearer a-secret")]

    def ask(token, body):
        return asked(application, body, Rules(token), shown, lambda: kept.append(token))

    assert [ask("another", [b"{}"]), ask("", [b"{}"]), ask("a-secret", [b"{", None])] == [[401], [200], [408]]
    assert kept == []
    assert ask("a-secret", [b"{", b"}"]) == [200]
    assert kept == ["a-secret"]


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


@pytest.fixture
def stranger(client, locked):
    """Requests to that page without its token."""
    ask = type(client)(locked)
    ask.token = ""
    return ask


def test_the_token_is_exchanged_for_a_cookie_that_is_not_the_token(stranger, locked):
    assert locked.url.endswith("?token=a-secret")
    status, headers, _ = stranger("GET", "/?token=a-secret")
    assert (status, headers["location"]) == (303, "/")
    cookie = headers["set-cookie"]
    for word in ("HttpOnly", "SameSite=strict", "Path=/"):
        assert word in cookie
    assert "a-secret" not in cookie
    cookie = cookie.partition(";")[0]
    assert stranger("GET", "/", Cookie=cookie)[0] == 200
    assert stranger("GET", "/api/timeline", Authorization="Bearer a-secret")[0] == 200
    assert stranger("GET", "/api/timeline", Authorization=f"Bearer {cookie.partition('=')[2]}")[0] == 401
    assert "a-secret" not in repr(WebAddress("h", 1, token="a-secret"))


def test_cookies_of_other_pages_of_the_machine_do_no_harm(stranger):
    cookie = stranger("GET", "/?token=a-secret")[1]["set-cookie"].partition(";")[0]
    for others in ('state={"a": 1, "b": [2]}', "polarlab-00000000=x", "a b c", '"', "=", "x=\xe9", "{};;"):
        assert stranger("GET", "/api/timeline", Cookie=f"{others}; {cookie}")[0] == 200
        assert stranger("GET", "/api/timeline", Cookie=f"{cookie};{others}")[0] == 200
        assert stranger("GET", "/api/timeline", Cookie=others)[0] == 401
    with PageServer(WebAddress("127.0.0.1", 0, token="another")) as other:
        ask = type(stranger)(other)
        ask.token = ""
        theirs = ask("GET", "/?token=another")[1]["set-cookie"].partition(";")[0]
    assert theirs.partition("=")[0] != cookie.partition("=")[0]
    assert stranger("GET", "/api/timeline", Cookie=theirs)[0] == 401


def test_a_program_may_give_the_token_in_its_address(stranger):
    assert stranger("GET", "/api/timeline?token=a-secret")[0] == 200
    assert stranger("GET", "/metrics?token=a-secret")[0] == 200
    assert stranger("GET", "/api/path?source=s1&token=a-secret")[0] == 400  # destination is missing
    assert stranger("GET", "/api/timeline?token=a-secre")[0] == 401


def test_a_link_from_a_notebook_is_led_to_the_page_by_a_step_of_its_own(stranger):
    """A redirect would count as the notebook's request, which has no cookie of the page."""
    link = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    status, headers, _ = stranger("GET", "/?token=a-secret", **link)
    assert status == 200
    assert headers["refresh"].endswith("url=/")
    assert headers["set-cookie"]


def test_pages_on_loopback_have_a_token_unless_they_are_open_to_all(client):
    with PageServer(parse_address("0")) as page:
        assert type(client)(page).token
    with PageServer(parse_address("0", open_to_all=True)) as page:
        ask = type(client)(page)
        assert ask.token == ""
        assert ask("GET", "/api/timeline")[0] == 200
    with pytest.raises(ParameterError, match="--web-open"):
        parse_address("0.0.0.0:0", open_to_all=True)


def test_full_names_of_the_machine_pass_where_others_can_reach_it():
    full = Rules.of(("0.0.0.0",), "x", ["Box", "box.example.org."], secure=False)
    for host, right in [
        *(
            (name, True)
            for name in ("box", "BOX.example.org:80", "box.example.org.", "10.0.0.1", "[fe80::1]:8642")
        ),
        *((name, False) for name in ("box.evil.com", "evil.box", "10.0.0.1.evil.com", "10.0.0.1:80:evil")),
    ]:
        passed = [(b"host", host.encode()), (b"authorization", b"Bearer x")]
        assert asked(PlainTextResponse("passed"), [b"{}"], full, passed) == [200 if right else 421]

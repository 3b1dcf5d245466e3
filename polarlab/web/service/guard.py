"""Guard of the web process: who may ask, from where, and how much.

Host and Origin are checked, so that neither a name that was made to point here (DNS rebinding) nor another
site's page can reach the fabric. On an address that others can reach everybody needs the token: a browser
exchanges it for a cookie, a program sends it as a bearer token.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BODY_BYTES = 64 << 10
BODY_TIMEOUT_S = 10.0
COOKIE = "polarlab"
_LOCAL_NAMES = frozenset(("localhost", "127.0.0.1", "[::1]"))
_CHANGING = frozenset(("POST", "PUT", "PATCH", "DELETE"))
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    # Cytoscape adds a style sheet of its own.
    (
        b"content-security-policy",
        b"default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'",
    ),
)


@dataclass(frozen=True)
class Rules:
    """The rules of a guard.

    Attributes:
        token: the secret; empty where none is needed.
        names: names by which the page may be asked for besides IP addresses, in lower case.
        secure: whether the connection is encrypted.
    """

    token: str = ""
    names: frozenset[str] = frozenset()
    secure: bool = False

    @classmethod
    def of(cls, host: str, token: str, *, secure: bool) -> Rules:
        """Returns the rules of a page that listens on a host."""
        names = frozenset() if not token else frozenset((host.lower(), socket.gethostname().lower()))
        return cls(token, names, secure)


class Guard:
    """ASGI application that lets requests through to another, or refuses them."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        """Prepares the guard.

        Args:
            app: the application behind it.
            rules: who may ask.
        """
        self._app, self._rules = app, rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers or passes a request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal is None:
            try:
                receive = await _whole_body(scope, headers, receive)
            except _BodyError as error:
                refusal = refused(error.status, str(error))
        await (refusal or self._app)(scope, receive, with_headers)

    def _refusal(self, scope: Scope, headers: Mapping[str, str]) -> Response | None:
        """Returns the answer to a request that may not pass; None if it may."""
        if not self._knows_host(headers.get("host", "")):
            return refused(421, "Host must be this machine's; open the address that PolarLab printed")
        origin = headers.get("origin")
        if origin is not None and not self._same_site(origin, headers["host"]):
            return refused(403, "requests of other sites are refused")
        if scope["method"] in _CHANGING:
            if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
                return refused(403, "requests of other sites are refused")
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if scope["method"] != "DELETE" and kind != "application/json":
                return refused(415, "Content-Type must be application/json")
        return self._unknown_caller(scope, headers) if self._rules.token else None

    def _unknown_caller(self, scope: Scope, headers: Mapping[str, str]) -> Response | None:
        """Returns the answer to a caller without the token; a browser that has it gets a cookie."""
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if scope["path"] == "/" and self._is_token(query.get("token", [""])[0]):
            answer: Response = RedirectResponse("/", 303)
            answer.set_cookie(
                COOKIE, self._rules.token, httponly=True, samesite="strict", secure=self._rules.secure
            )
            return answer
        given = headers.get("authorization", "")
        if given.lower().startswith("bearer ") and self._is_token(given[7:].strip()):
            return None
        cookies: SimpleCookie = SimpleCookie()
        try:
            cookies.load(headers.get("cookie", ""))
        except CookieError:
            cookies.clear()
        if COOKIE in cookies and self._is_token(cookies[COOKIE].value):
            return None
        answer = refused(401, "the token is missing; open the address that PolarLab printed")
        answer.headers["www-authenticate"] = "Bearer"
        return answer

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._rules.token.encode())

    def _knows_host(self, host: str) -> bool:
        """Returns whether a Host header names this machine, on any port, as a forwarded one may differ."""
        name = _name_of(host)
        if name in _LOCAL_NAMES or name in self._rules.names:
            return True
        return bool(self._rules.token) and _is_address(name)

    def _same_site(self, origin: str, host: str) -> bool:
        try:
            parts = urlsplit(origin)
        except ValueError:  # no address at all
            return False
        scheme = "https" if self._rules.secure else "http"
        if _name_of(host) in _LOCAL_NAMES and _name_of(parts.netloc) in _LOCAL_NAMES:
            return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()
        return parts.scheme == scheme and parts.netloc.lower() == host.lower()


class _BodyError(Exception):
    """A body that is not taken, with its HTTP status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


async def _whole_body(scope: Scope, headers: Mapping[str, str], receive: Receive) -> Receive:
    """Reads the body of a request, and returns a receiver of that body for the application.

    Raises:
        _BodyError: it is too long or too slow, or its client has left.
    """
    if scope["method"] not in _CHANGING:
        return receive
    length = headers.get("content-length", "0")
    # Python refuses to read a number of thousands of digits.
    if not length.isdecimal() or len(length) > 20 or int(length) > MOST_BODY_BYTES:
        raise _BodyError(413, f"the body must be at most {MOST_BODY_BYTES} bytes")
    body = b""
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise _BodyError(400, "the body ended early")
                body += message.get("body", b"")
                more = message.get("more_body", False)
                if len(body) > MOST_BODY_BYTES:
                    raise _BodyError(413, f"the body must be at most {MOST_BODY_BYTES} bytes")
    except TimeoutError:
        raise _BodyError(408, f"the body must come within {BODY_TIMEOUT_S:g} s") from None
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def refused(status: int, text: str) -> Response:
    """Returns the answer to a request that is refused, with a line of text for the reason."""
    return JSONResponse({"error": text}, status)


def _name_of(host: str) -> str:
    """Returns the name in a Host header or an origin, without its port."""
    host = host.strip().lower()
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True

"""Guard of the web process: checks who sends a request, from where, and how large it is.

Host, Origin and Sec-Fetch-Site are checked, so that neither a name that someone points at this machine (DNS
rebinding) nor another site's page can reach the fabric. Every client needs the token, unless the page is open
to all users of this machine. A browser exchanges the token for a cookie; a program sends it.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from polarlab.web.service.places import KEEP_PLACE

MAX_BODY_BYTES = 64 << 10
BODY_TIMEOUT_S = 10.0
TOKEN = "token"  # noqa: S105  # its key in a query
_LOCAL_NAMES = frozenset(("localhost", "127.0.0.1", "[::1]"))
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?)\.?(?::[0-9]{1,5})?")
_CHANGING = frozenset(("POST", "PUT", "PATCH", "DELETE"))
_OWN_REQUESTS = frozenset(("same-origin", "none"))  # values of Sec-Fetch-Site
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    # 'unsafe-inline': Cytoscape adds its own style sheet.
    (
        b"content-security-policy",
        b"default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; "
        b"form-action 'none'; frame-ancestors 'none'",
    ),
)


@dataclass(frozen=True)
class Rules:
    """The rules of a guard.

    Attributes:
        token: the secret; empty if none is needed.
        names: host names in lower case that requests may use besides localhost.
        secure: whether the connection is encrypted.
        addresses: whether requests may also use any IP address; DNS rebinding works only with names.
    """

    token: str = ""
    names: frozenset[str] = frozenset()
    secure: bool = False
    addresses: bool = False

    @classmethod
    def of(cls, host: str, token: str, own_names: Iterable[str], *, secure: bool) -> Rules:
        """Returns the rules of a page that listens on a host.

        Args:
            host: the host, without brackets.
            token: the secret.
            own_names: names of this machine; empty for a page that only this machine can reach.
            secure: whether the connection is encrypted.
        """
        address = f"[{host}]" if ":" in host else host
        own = [name.lower().rstrip(".") for name in own_names]
        return cls(token, frozenset((address.lower(), *own)), secure, addresses=bool(own))

    @property
    def cookie(self) -> tuple[str, str]:
        """Name and value of the cookie that stands for the token.

        Browsers send cookies to all ports of a machine. The value therefore does not reveal the token, and
        the name is unique to this page, so that pages on other ports do not overwrite the cookie.
        """
        name, value = (hmac.digest(self.token.encode(), key, "sha256").hex() for key in (b"name", b"value"))
        return f"polarlab-{name[:8]}", value


class Guard:
    """ASGI application that passes requests on to another application, or refuses them."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        """Prepares the guard.

        Args:
            app: the protected application.
            rules: the rules.
        """
        self._app, self._rules = app, rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuses a request or passes it on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            key, text = name.decode("latin-1"), value.decode("latin-1")
            headers[key] = f"{headers[key]}; {text}" if key in headers and key == "cookie" else text
        refusal = self._refusal(scope, headers)
        if refusal is None:
            try:
                receive = await _whole_body(scope, headers, receive)
                self._keep_place(scope)
            except _BodyError as error:
                refusal = refused(error.status, str(error))
        if refusal is not None:
            refusal.headers["connection"] = "close"  # a refused client must not keep its place
        await (refusal or self._app)(scope, receive, with_headers)

    def _keep_place(self, scope: Scope) -> None:
        """Keeps the place of a connection that has sent the token; a page without a token keeps none."""
        if self._rules.token:
            scope.get("state", {}).get(KEEP_PLACE, _nothing)()

    def _refusal(self, scope: Scope, headers: Mapping[str, str]) -> Response | None:
        """Returns the response to a request that must not pass; None if it may pass."""
        if not self._knows_host(headers.get("host", "")):
            return refused(421, "Host must name this machine; open the address that PolarLab printed")
        if "upgrade" in headers:
            return refused(400, "Upgrade is not supported; events come from /api/stream")
        query = parse_qs(scope["query_string"].decode("latin-1")).get(TOKEN, [""])
        if self._rules.token and scope["path"] == "/" and self._is_token(query[0]):
            return self._admission(headers)
        origin = headers.get("origin")
        if origin is not None and not self._same_site(origin, headers["host"]):
            return refused(403, "requests from other sites are refused")
        if headers.get("sec-fetch-site", "none") not in _OWN_REQUESTS and not _follows_a_link(scope, headers):
            return refused(403, "requests from other sites are refused")
        if scope["method"] in _CHANGING:
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if scope["method"] != "DELETE" and kind != "application/json":
                return refused(415, "Content-Type must be application/json")
        if not self._rules.token or self._knows_caller(scope, headers, query[0]):
            return None
        answer = refused(401, "the token is missing; open the address that PolarLab printed")
        answer.headers["www-authenticate"] = "Bearer"
        return answer

    def _admission(self, headers: Mapping[str, str]) -> Response:
        """Returns the response that sets the cookie and redirects a browser to the page without the token."""
        if headers.get("sec-fetch-site", "none") in _OWN_REQUESTS:
            answer: Response = RedirectResponse("/", 303)
        else:
            # After a redirect, the request would still belong to the other site, such as a notebook, and the
            # browser would not send the cookie.
            answer = Response(headers={"refresh": "0; url=/"})
        name, value = self._rules.cookie
        answer.set_cookie(name, value, httponly=True, samesite="strict", secure=self._rules.secure)
        answer.headers["cache-control"] = "no-store"
        return answer

    def _knows_caller(self, scope: Scope, headers: Mapping[str, str], query_token: str) -> bool:
        """Returns whether a request has the token, or the cookie that stands for it."""
        if self._is_token(query_token):
            # No action has a parameter with this name, and the application does not need the token.
            fields = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            scope["query_string"] = urlencode([one for one in fields if one[0] != TOKEN]).encode()
            return True
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._is_token(given.strip()):
            return True
        name, value = self._rules.cookie
        # Parsed here, because the standard library's parser stops at the first cookie that it rejects.
        cookies = (one.strip().partition("=") for one in headers.get("cookie", "").split(";"))
        return any(key == name and _equal(given, value) for key, _, given in cookies)

    def _is_token(self, text: str) -> bool:
        return _equal(text, self._rules.token)

    def _knows_host(self, host: str) -> bool:
        """Returns whether a Host header names this machine, on any port: a forwarded port may differ."""
        name = _name_of(host)
        if name in _LOCAL_NAMES or name in self._rules.names:
            return True
        return self._rules.addresses and _is_address(name)

    def _same_site(self, origin: str, host: str) -> bool:
        try:
            parts = urlsplit(origin)
        except ValueError:  # not an address
            return False
        scheme = "https" if self._rules.secure else "http"
        if _name_of(host) in _LOCAL_NAMES and _name_of(parts.netloc) in _LOCAL_NAMES:
            return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()
        return parts.scheme == scheme and parts.netloc.lower() == host.lower()


class _BodyError(Exception):
    """A body that is refused, with the HTTP status of the refusal."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


async def _whole_body(scope: Scope, headers: Mapping[str, str], receive: Receive) -> Receive:
    """Reads the body of a request, and returns a function from which the application receives it.

    Raises:
        _BodyError: the body is too long or too slow, or the client has disconnected.
    """
    if scope["method"] not in _CHANGING:
        return receive
    length = headers.get("content-length", "0")
    # Python raises an error for numbers with thousands of digits.
    if not length.isdecimal() or len(length) > 20 or int(length) > MAX_BODY_BYTES:
        raise _BodyError(413, f"the body must be at most {MAX_BODY_BYTES} bytes")
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
                if len(body) > MAX_BODY_BYTES:
                    raise _BodyError(413, f"the body must be at most {MAX_BODY_BYTES} bytes")
    except TimeoutError:
        raise _BodyError(408, f"the body must arrive within {BODY_TIMEOUT_S:g} s") from None
    delivered = False

    async def replay() -> Message:
        nonlocal delivered
        if delivered:
            return await receive()
        delivered = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _nothing() -> None:
    """Does nothing; used by servers without places."""


def refused(status: int, text: str) -> Response:
    """Returns the response that refuses a request; `text` is the reason, in one line."""
    return JSONResponse({"error": text}, status)


def _name_of(host: str) -> str:
    """Returns the host name in a Host header or an origin, without the port; empty if malformed."""
    match = _HOST.fullmatch(host.strip().lower())
    return match["name"] if match else ""


def _follows_a_link(scope: Scope, headers: Mapping[str, str]) -> bool:
    """Returns whether a browser follows a link to the page; the linking page cannot read the response."""
    opens = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "document")
    return opens and scope["method"] == "GET" and scope["path"] == "/"


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _equal(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode(), secret.encode())

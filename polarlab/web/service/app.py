"""The web application: the page, its files, the API, and metrics."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from polarlab.api.verb import JSON, Verb
from polarlab.web.actions import actions
from polarlab.web.service.guard import refused
from polarlab.web.service.hub import Hub, Unanswered
from polarlab.web.service.metrics import TYPE, text_of
from polarlab.web.service.openapi import document
from polarlab.web.service.stream import EventStream
from polarlab.web.wording import wording

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "mjs": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}
_MAX_STREAMS = 128  # limit of event streams, so that other requests get connections, too
_MAX_PATH_CHARACTERS = 80  # limit of characters of a path in an answer
NO_FABRIC = "no fabric is running"
_SAFE_NAME = re.compile(r"[\w.-]+", re.ASCII)
_EVENT = re.compile(r"[0-9]{1,9}")

Handler = Callable[[Request], Awaitable[Any]]


class _KnownAnswers:
    """Responses from the hub and from files, without a request to the fabric's process."""

    def __init__(self, hub: Hub, files: Mapping[str, bytes], version: str) -> None:
        self._hub, self._files = hub, files
        self._document = msgspec.json.encode(document(version))

    def routes(self) -> list[Route]:
        """Returns the routes of all these responses except the page's files."""
        fixed: dict[str, Handler] = {
            "/api/fabric": self.fabric,
            "/api/state": self.state,
            "/api/timeline": self.timeline,
            "/api/stream": self.stream,
            "/metrics": self.metrics,
            "/openapi.json": self.openapi,
        }
        return [Route(path, handler, methods=["GET"]) for path, handler in fixed.items()]

    async def fabric(self, _request: Request) -> Response:
        """Returns the description of the fabric."""
        if self._hub.about is None:
            return refused(503, NO_FABRIC)
        return Response(self._hub.about_json, media_type=JSON)

    async def state(self, _request: Request) -> Response:
        """Returns the latest state; for replayed results, the last one."""
        if self._hub.state is None:
            return refused(503, NO_FABRIC)
        return Response(self._hub.state_json, media_type=JSON)

    async def timeline(self, _request: Request) -> Response:
        """Returns the latest events."""
        return Response(msgspec.json.encode(self._hub.entries), media_type=JSON)

    async def stream(self, request: Request) -> EventStream | Response:
        """Returns states and events as they arrive; events start after the last one that the client has."""
        # An earlier process at this address had its own numbering of events.
        session, _, last = request.headers.get("last-event-id", "").rpartition("-")
        known = session == self._hub.session and _EVENT.fullmatch(last)
        if self._hub.watchers >= _MAX_STREAMS:
            return refused(503, f"at most {_MAX_STREAMS} clients can receive events; close a page")
        return EventStream(self._hub, int(last) if known else -1)

    async def metrics(self, _request: Request) -> Response:
        """Returns the metrics."""
        return Response(text_of(self._hub.about, self._hub.state), headers={"content-type": TYPE})

    async def openapi(self, _request: Request) -> Response:
        """Returns the description of the API."""
        return Response(self._document, media_type=JSON)

    async def file(self, request: Request) -> Response:
        """Returns a file of the page."""
        path = request.url.path.lstrip("/") or "index.html"
        kind = _TYPES.get(path.rpartition(".")[2], "application/octet-stream")
        return Response(self._files[path], media_type=kind, headers={"cache-control": "no-cache"})


def make_app(hub: Hub, files: Mapping[str, bytes], version: str) -> Starlette:
    """Returns the application.

    Args:
        hub: the state of the fabric.
        files: path below `/` -> content, for the page's files, including `index.html`.
        version: version of PolarLab.
    """
    known = _KnownAnswers(hub, files, version)
    by_path: dict[str, dict[str, Verb]] = {}
    for action in actions().values():
        by_path.setdefault(action.http.path, {})[action.http.method] = action
    requested = (Route(path, _action_handler(hub, one), methods=list(one)) for path, one in by_path.items())
    routes = [*known.routes(), *requested]
    routes += [Route(f"/{path}", known.file, methods=["GET"]) for path in ("", *files)]
    errors: dict[Any, Any] = {HTTPException: _http_error, Exception: _internal_error}
    app = Starlette(routes=routes, exception_handlers=errors)
    app.router.redirect_slashes = False
    return app


def _action_handler(hub: Hub, by_method: Mapping[str, Verb]) -> Handler:
    """Returns a handler that maps the HTTP method to an action and requests it from the fabric's process."""

    async def handle(request: Request) -> Response:
        action = by_method["GET" if request.method == "HEAD" else request.method]
        try:
            values = msgspec.to_builtins(await _values(request, action))
        except msgspec.MsgspecError as error:
            return refused(400, wording(error, action.request))
        except UnicodeDecodeError:
            return refused(400, "the body must be JSON in UTF-8")
        if hub.about is None:
            return refused(503, NO_FABRIC)
        if action.name not in hub.about["actions"]:
            return refused(409, f"{action.name} is not possible here: {_reason(hub.about)}")
        try:
            answer = await hub.ask(action.name, values)
        except Unanswered:
            return refused(503, "the fabric does not answer")
        if answer.file is not None:
            headers = {"content-disposition": f'attachment; filename="{_safe(answer.file_name)}"'}
            return Response(answer.file, media_type=action.http.reply, headers=headers)
        return Response(msgspec.json.encode(answer.body), answer.status, media_type=JSON)

    return handle


async def _values(request: Request, action: Verb) -> msgspec.Struct:
    """Returns the checked arguments of a request."""
    if action.http.method == "DELETE":
        return action.request()
    if action.reads:
        return msgspec.convert({**dict(request.query_params), **request.path_params}, action.request)
    return msgspec.json.decode(await request.body(), type=action.request)


def _reason(about: dict[str, Any]) -> str:
    if about["replay"]:
        return "finished results are being replayed"
    if about["actions"]:
        return "this fabric does not support it"
    return "an experiment is using the fabric, and its results would not record manual changes"


def _safe(name: str) -> str:
    return "".join(_SAFE_NAME.findall(name)) or "results.zip"


async def _http_error(request: Request, error: HTTPException) -> Response:
    text = str(error.detail)
    if error.status_code == 404:
        text = f"nothing is at {request.url.path[:_MAX_PATH_CHARACTERS]}; /openapi.json lists all paths"
    elif error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "another")
        text = f"method must be {allowed}, got {request.method}"
    answer = refused(error.status_code, text)
    answer.headers.update(error.headers or {})
    return answer


# Asynchronous, because Starlette calls other functions in threads, which this process cannot start.
async def _internal_error(_request: Request, _error: Exception) -> Response:
    return refused(500, "internal error; see the log of the web process")

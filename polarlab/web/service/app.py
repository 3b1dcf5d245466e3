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
_MOST_STREAMS = 128  # of all connections, so that requests have their place
_MOST_PATH = 80  # characters of it in an answer
NO_FABRIC = "no fabric is up"
_SAFE_NAME = re.compile(r"[\w.-]+", re.ASCII)
_EVENT = re.compile(r"[0-9]{1,9}")

Handler = Callable[[Request], Awaitable[Any]]


class _Told:
    """Answers from the hub and from files, for which the fabric's process is not asked."""

    def __init__(self, hub: Hub, files: Mapping[str, bytes], version: str) -> None:
        self._hub, self._files = hub, files
        self._document = msgspec.json.encode(document(version))

    def routes(self) -> list[Route]:
        """Returns the routes of all of them but the page's files."""
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
        """Returns the latest state; of results that are replayed, the last one."""
        if self._hub.state is None:
            return refused(503, NO_FABRIC)
        return Response(self._hub.state_json, media_type=JSON)

    async def timeline(self, _request: Request) -> Response:
        """Returns the latest events."""
        return Response(msgspec.json.encode(self._hub.entries), media_type=JSON)

    async def stream(self, request: Request) -> EventStream | Response:
        """Returns states and events as they come, from the event on that a client has had last."""
        # Events of another process, which this address had before, have numbers of their own.
        session, _, last = request.headers.get("last-event-id", "").rpartition("-")
        known = session == self._hub.session and _EVENT.fullmatch(last)
        if self._hub.watchers >= _MOST_STREAMS:
            return refused(503, f"events go to {_MOST_STREAMS} clients at most; close a page")
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
        hub: what is known of the fabric.
        files: the page's files by their paths below `/`, `index.html` among them.
        version: version of PolarLab.
    """
    told = _Told(hub, files, version)
    by_path: dict[str, dict[str, Verb]] = {}
    for action in actions().values():
        by_path.setdefault(action.http.path, {})[action.http.method] = action
    asked = (Route(path, _asked(hub, one), methods=list(one)) for path, one in by_path.items())
    routes = [*told.routes(), *asked]
    routes += [Route(f"/{path}", told.file, methods=["GET"]) for path in ("", *files)]
    errors: dict[Any, Any] = {HTTPException: _http_error, Exception: _internal_error}
    app = Starlette(routes=routes, exception_handlers=errors)
    app.router.redirect_slashes = False
    return app


def _asked(hub: Hub, by_method: Mapping[str, Verb]) -> Handler:
    """Returns the handler that has the action of a request's method done."""

    async def ask(request: Request) -> Response:
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

    return ask


async def _values(request: Request, action: Verb) -> msgspec.Struct:
    """Returns the content of a request, checked."""
    if action.http.method == "DELETE":
        return action.request()
    if action.reads:
        return msgspec.convert({**dict(request.query_params), **request.path_params}, action.request)
    return msgspec.json.decode(await request.body(), type=action.request)


def _reason(about: dict[str, Any]) -> str:
    if about["replay"]:
        return "finished results are replayed"
    if about["actions"]:
        return "this fabric cannot do that"
    return "an experiment has the fabric for itself, whose results would not name what is done by hand"


def _safe(name: str) -> str:
    return "".join(_SAFE_NAME.findall(name)) or "results.zip"


async def _http_error(request: Request, error: HTTPException) -> Response:
    text = str(error.detail)
    if error.status_code == 404:
        text = f"nothing is at {request.url.path[:_MOST_PATH]}; /openapi.json lists all that there is"
    elif error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "another")
        text = f"method must be {allowed}, got {request.method}"
    answer = refused(error.status_code, text)
    answer.headers.update(error.headers or {})
    return answer


# Starlette has threads call functions, which this process cannot start.
async def _internal_error(_request: Request, _error: Exception) -> Response:
    return refused(500, "internal error; the log of the web process has it")

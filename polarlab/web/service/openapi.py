"""The HTTP API as an OpenAPI document, made from the actions and their types."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from polarlab.api.verb import JSON, MOST_CHARACTERS, ONE_LINE, Verb
from polarlab.web.actions import actions
from polarlab.web.service.guard import MOST_BODY_BYTES, TOKEN

_PLACE = re.compile(r"\{(\w+)\}")
_ERROR = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
_FIXED = {
    "/api/fabric": ("the fabric: routers, links, layout, hosts, routing, proof", JSON),
    "/api/state": (
        "the latest state, of finished results the last: loads, queues, failures, traffic",
        JSON,
    ),
    "/api/timeline": ("the latest events, in the order in which they were known", JSON),
    "/api/stream": ("states and events as they come (server-sent events)", "text/event-stream"),
    "/metrics": ("metrics for Prometheus", "text/plain"),
    "/openapi.json": ("this document", JSON),
}
_REFUSALS = {
    400: "the request is not what the API describes, or makes no sense now",
    401: "the token is missing; a page that is open to all users of its machine needs none",
    403: "the request comes from another site",
    404: "there is no such thing",
    405: "the method does not exist",
    408: "the body came too slowly",
    409: "the fabric does not allow it now",
    413: f"the body is longer than {MOST_BODY_BYTES} bytes",
    415: "the body is not JSON",
    421: "the Host header is not this machine's",
    500: "an error of PolarLab's own; the fabric goes on",
    503: "no fabric is up, it does not answer, or too many ask at once",
}


def document(version: str) -> dict[str, Any]:
    """Returns the document.

    Args:
        version: version of the API, that of PolarLab.
    """
    _, schemas = msgspec.json.schema_components(
        [action.request for action in actions().values() if action.has_body],
        ref_template="#/components/schemas/{name}",
    )
    paths: dict[str, Any] = {path: {"get": _plain(*one)} for path, one in _FIXED.items()}
    for action in actions().values():
        paths.setdefault(action.http.path, {})[action.http.method.lower()] = _operation(action)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "PolarLab",
            "version": version,
            "description": "A fabric of real switches: watched, broken and mended.",
        },
        "paths": paths,
        "components": {
            "schemas": {**schemas, "Error": _ERROR},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "query": {"type": "apiKey", "in": "query", "name": TOKEN},
            },
        },
        "security": [{"token": []}, {"query": []}],
    }


def _plain(summary: str, kind: str) -> dict[str, Any]:
    return {"summary": summary, "responses": {"200": _content(kind), **_refusals()}}


def _operation(action: Verb) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": action.summary[0].lower() + action.summary[1:],
        "operationId": action.name,
        "responses": {"200": _content(action.http.reply), **_refusals()},
    }
    in_path = set(_PLACE.findall(action.http.path))
    if action.reads:
        parameters = [
            {
                "name": field.name,
                "in": "path" if field.name in in_path else "query",
                "required": field.required or field.name in in_path,
                "schema": {"type": "string", "maxLength": MOST_CHARACTERS, "pattern": ONE_LINE}
                | ({"minLength": 1} if field.required else {}),
            }
            for field in msgspec.structs.fields(action.request)
        ]
        if parameters:
            operation["parameters"] = parameters
    elif action.has_body:
        schema = {"$ref": f"#/components/schemas/{action.request.__name__}"}
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": schema}}}
    return operation


def _content(kind: str) -> dict[str, Any]:
    schema: dict[str, Any] = {} if kind == JSON else {"type": "string"}
    return {"description": "done", "content": {kind: {"schema": schema}}}


def _refusals() -> dict[str, Any]:
    content = {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {str(status): {"description": text, "content": content} for status, text in _REFUSALS.items()}

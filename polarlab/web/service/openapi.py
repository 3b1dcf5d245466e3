"""The HTTP API as an OpenAPI document, generated from the actions and their types."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from polarlab.api.verb import JSON, MAX_CHARACTERS, ONE_LINE, Verb
from polarlab.web.actions import actions
from polarlab.web.service.guard import MAX_BODY_BYTES, TOKEN

_PLACE = re.compile(r"\{(\w+)\}")
_ERROR = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
_FIXED = {
    "/api/fabric": ("the fabric: routers, links, layout, hosts, routing, proof", JSON),
    "/api/state": (
        "the latest state (for finished results, the last one): loads, queues, failures, traffic",
        JSON,
    ),
    "/api/timeline": ("the latest events, in order of arrival", JSON),
    "/api/stream": ("states and events as they occur (server-sent events)", "text/event-stream"),
    "/metrics": ("metrics for Prometheus", "text/plain"),
    "/openapi.json": ("this document", JSON),
}
_REFUSALS = {
    400: "the request does not match the API, or is not possible in the current state",
    401: "the token is missing; a page that is open to all users of its machine needs none",
    403: "the request comes from another site",
    404: "the path does not exist",
    405: "the path does not support this method",
    408: "the body arrived too slowly",
    409: "the fabric does not allow this now: a measurement is using it, or it lacks this action",
    413: f"the body is longer than {MAX_BODY_BYTES} bytes",
    415: "the body is not JSON",
    421: "the Host header does not name this machine",
    500: "an internal error of PolarLab; the fabric continues",
    503: "no fabric is running, it does not answer, or there are too many requests",
}


def document(version: str) -> dict[str, Any]:
    """Returns the document.

    Args:
        version: version of the API, which is PolarLab's version.
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
            "description": "Watches a fabric of real switches, breaks it and repairs it.",
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
                "schema": {"type": "string", "maxLength": MAX_CHARACTERS, "pattern": ONE_LINE}
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

"""Requests to a live page."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import parse_qs, urlsplit


def token_of(url: str) -> str:
    """Returns the token of a page's printed address; empty if it has none."""
    return parse_qs(urlsplit(url).query).get("token", [""])[0]


def ask(url: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Returns status and JSON of a request to a page, with the token of its printed address."""
    data = None if body is None else json.dumps(body).encode()
    status, answer = fetch(url, path, data, method)
    return status, json.loads(answer)


def fetch(url: str, path: str, data: bytes | None = None, method: str = "GET") -> tuple[int, bytes]:
    """Returns status and body of a request to a page, with the token of its printed address."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token_of(url)}"}
    request = urllib.request.Request(f"{url.partition('?')[0]}{path}", data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()

"""Requests to a live page."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any


def ask(url: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Returns status and JSON of a request to a page."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        f"{url}{path}", data, {"Content-Type": "application/json"}, method=method
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())

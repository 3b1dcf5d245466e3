"""A page that replays a run of ER_3, and requests to it."""

from __future__ import annotations

import http.client
import json
import subprocess
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from support.builders import records
from support.builders.result_folders import FAULTS, write_run
from support.fixtures.web_requests import token_of

from experiments.observation.recording import read_recording
from polarlab.web.address import WebAddress
from polarlab.web.page_server import PageServer


@pytest.fixture(scope="session")
def recorded_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of ER_3 in which a link failed."""
    return write_run(tmp_path_factory.mktemp("web") / "run", records.summary(faults=FAULTS))


@pytest.fixture(scope="session")
def replay(recorded_run: Path) -> Iterator[PageServer]:
    """A page that replays it, on a free port."""
    with PageServer(WebAddress("127.0.0.1", 0)) as page:
        page.replay(read_recording(recorded_run))
        _await_state(Client(page))
        yield page


def _await_state(client: Client) -> None:
    """Waits until the web process has the last state, which is told to it after everything else."""
    deadline = time.monotonic() + 20
    while client("GET", "/api/state")[0] != HTTPStatus.OK:
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Client:
    """Requests to a page, one connection each, with its token unless another authorization is given."""

    def __init__(self, page: PageServer) -> None:
        self.port, self.token = page.port, token_of(page.url)

    def __call__(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Returns status, headers and body of the answer; headers have their hyphens as underscores."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token and "Cookie" not in sent:
            sent.setdefault("Authorization", f"Bearer {self.token}")
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def json(self, path: str) -> Any:
        """Returns the JSON that a path gives."""
        status, _, body = self("GET", path)
        assert status == 200, body
        return json.loads(body)


@pytest.fixture(scope="session")
def client(replay: PageServer) -> Client:
    """Requests to the page that replays."""
    return Client(replay)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Files of a TLS certificate for localhost and of its key."""
    folder = tmp_path_factory.mktemp("tls")
    files = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    command += ["-out", str(files[0]), "-keyout", str(files[1])]
    subprocess.run(command, check=True, capture_output=True)
    return files

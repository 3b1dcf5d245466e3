"""The live page of a checkout in a folder that only its owner may read, as homes are on Debian."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.fixtures.documents import ROOT

ASKING = """
import http.client, json, socket, sys
sys.path[:0] = ["tests"]
from support.builders.recordings import made_up_recording
from support.fixtures.web_requests import token_of
from polarlab.web.address import WebAddress
from polarlab.web.page_server import PageServer

events = []
with PageServer(WebAddress("127.0.0.1", 0), events.append) as page:
    page.replay(made_up_recording("polarfly", {"q": 2}))
    statuses, head = [], {"Authorization": f"Bearer {token_of(page.url)}"}
    for method, path, body, more in [
        ("GET", "/", None, {}),
        ("GET", "/vendor/uplot.js", None, {}),
        ("GET", "/nothing", None, {}),
        ("GET", "/caf%c3%a9%00", None, {}),
        ("POST", "/api/stream", "{}", {"Content-Type": "application/json"}),
        ("POST", "/api/fail", "{", {"Content-Type": "application/json"}),
        ("POST", "/api/fail", '{"elements": "s1"}', {"Content-Type": "application/json"}),
        ("GET", "/api/stream", None, {"Connection": "Upgrade", "Upgrade": "websocket"}),
        ("GET", "/api/timeline", None, {"Authorization": "none"}),
        ("GET", "/metrics", None, {"Host": "xn--e1afmkfd.example"}),
    ]:
        connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=20)
        connection.request(method, path, body, {**head, **more})
        statuses.append(connection.getresponse().status)
        connection.close()
    with socket.create_connection(("127.0.0.1", page.port), 20) as connection:
        connection.sendall(b"GET /api/stream?token=%s HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n"
                           % token_of(page.url).encode())
        stream = b""
        while b"event: fabric" not in stream:
            stream += connection.recv(1 << 16)
    with socket.create_connection(("127.0.0.1", page.port), 20) as connection:
        connection.sendall(b"\\x16\\x03\\x01 no HTTP at all\\r\\n\\r\\n")
        statuses.append(int(connection.recv(100).split()[1]))
print(json.dumps([statuses, [str(event) for event in events[1:]]]))
"""
IN_PRIVATE = 'mkdir "$2/checkout" && mount --bind "$1" "$2/checkout" && cd "$2/checkout" && exec "$3" -c "$4"'


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: only root's page gives rights up")
def test_all_that_may_be_asked_for_is_loaded_before_rights_are_given_up(tmp_path):
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    checkout = private / "checkout"
    prefix = Path(sys.prefix)  # mostly in the checkout, too
    prefix = checkout / prefix.relative_to(ROOT) if prefix.is_relative_to(ROOT) else prefix
    ended = subprocess.run(
        [
            "unshare",
            "--mount",
            "sh",
            "-c",
            IN_PRIVATE,
            "sh",
            ROOT,
            private,
            prefix / "bin" / "python",
            ASKING,
        ],
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.stderr == ""
    assert ended.stdout == "[[200, 200, 404, 404, 405, 400, 409, 400, 401, 421, 400], []]\n"

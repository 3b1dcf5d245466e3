"""The web process, started by the fabric's process.

    python -m polarlab.web.service LISTENER CHANNEL

The two words are file descriptors: the listening socket, and the channel to the fabric's process. Standard
input has a JSON object: host, token, certificate, key, version. Whatever needs a right is done first:
modules, the page and the certificate are loaded; then the process becomes nobody.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import msgspec
import uvicorn

# What is loaded on demand would not be found once the process may not read its folders.
import uvicorn.lifespan.off
import uvicorn.loops.asyncio
import uvicorn.protocols.http.h11_impl

from polarlab.web.service.app import make_app
from polarlab.web.service.guard import Guard, Rules
from polarlab.web.service.hub import Hub

_PAGE = Path(__file__).resolve().parents[1] / "page"
_NOBODY = 65_534
_NO_NEW_PRIVILEGES = 38
_MOST_CONNECTIONS = 256


def main(listener: int, channel: int) -> None:
    """Serves until the fabric's process ends."""
    settings = msgspec.json.decode(sys.stdin.buffer.readline())
    files = {
        path.relative_to(_PAGE).as_posix(): path.read_bytes() for path in _PAGE.rglob("*") if path.is_file()
    }
    hub = Hub()
    secure = settings["certificate"] is not None
    app = Guard(
        make_app(hub, files, settings["version"]),
        Rules.of(settings["host"], settings["token"], secure=secure),
    )
    tls: dict[str, Any] = {}
    if secure:
        tls = {"ssl_certfile": settings["certificate"], "ssl_keyfile": settings["key"]}
    config = uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        lifespan="off",
        loop="asyncio",
        http="h11",
        limit_concurrency=_MOST_CONNECTIONS,
        server_header=False,
        timeout_graceful_shutdown=1,
        proxy_headers=False,
        **tls,
    )
    try:
        config.load()
    except OSError:  # of the certificate or its key; the fabric's process says so
        sys.exit(1)
    give_rights_up()
    asyncio.run(_serve(uvicorn.Server(config), hub, listener, channel))


def give_rights_up() -> None:
    """Makes the process that of nobody, for good, if it is root's."""
    os.chdir("/")
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)
    ctypes.CDLL(None).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)


async def _serve(server: uvicorn.Server, hub: Hub, listener: int, channel: int) -> None:
    """Serves until the channel ends."""
    connection = socket.socket(fileno=channel)
    connection.setblocking(False)
    telling = asyncio.create_task(hub.serve(connection))
    serving = asyncio.create_task(server.serve(sockets=[socket.socket(fileno=listener)]))
    print("ready", flush=True)
    await asyncio.wait({telling, serving}, return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    with contextlib.suppress(asyncio.CancelledError):
        await serving


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the fabric's process ends this one
    main(int(sys.argv[1]), int(sys.argv[2]))

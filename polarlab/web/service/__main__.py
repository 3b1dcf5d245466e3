"""The web process, started by the fabric's process.

    python -m polarlab.web.service LISTENER CHANNEL

Both arguments are file descriptors: the listening socket, and the channel to the fabric's process. Standard
input contains a JSON object: hosts, names, token, certificate, key, version. The process first does all that
needs privileges (it loads modules, the page and the certificate), and then drops its privileges.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import msgspec
import uvicorn

from polarlab.web.service.app import make_app
from polarlab.web.service.connections import BoundedProtocol
from polarlab.web.service.door import DoorLoop
from polarlab.web.service.error_lines import write_errors
from polarlab.web.service.guard import Guard, Rules
from polarlab.web.service.hub import Hub
from polarlab.web.service.privileges import drop_privileges

_PAGE = Path(__file__).resolve().parents[1] / "page"
_COLLECTIONS = (700, 3, 3)  # thresholds of the garbage collector
_KEEP_ALIVE_S = 60  # a page keeps its connections even while others flood this process with new ones
# Modules that libraries import on demand, which is impossible once the process has no access to files.
_IMPORTED_LATER = (
    *("uvicorn.lifespan.off", "uvicorn.loops.asyncio", "anyio._backends._asyncio"),
    *("encodings.idna", "encodings.latin_1", "encodings.ascii", "encodings.unicode_escape"),
)


def main(listener: int, channel: int) -> None:
    """Serves until the fabric's process ends."""
    for module in _IMPORTED_LATER:
        importlib.import_module(module)
    write_errors()
    settings = msgspec.json.decode(sys.stdin.buffer.readline())
    files = {
        path.relative_to(_PAGE).as_posix(): path.read_bytes() for path in _PAGE.rglob("*") if path.is_file()
    }
    hub = Hub()
    secure = settings["certificate"] is not None
    app = Guard(
        make_app(hub, files, settings["version"]),
        Rules.of(settings["hosts"], settings["token"], settings["names"], secure=secure),
    )
    tls: dict[str, Any] = {}
    if secure:
        tls = {"ssl_certfile": settings["certificate"], "ssl_keyfile": settings["key"]}
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        http=BoundedProtocol,
        ws="none",
        timeout_keep_alive=_KEEP_ALIVE_S,
        server_header=False,
        timeout_graceful_shutdown=1,
        proxy_headers=False,
        **tls,
    )
    try:
        config.load()
    except OSError:  # of the certificate or its key; the fabric's process reports it
        sys.exit(1)
    # A closed TLS connection leaves a reference cycle of 256 KiB: collect often, except what stays loaded.
    gc.freeze()
    gc.set_threshold(*_COLLECTIONS)
    with asyncio.Runner(loop_factory=DoorLoop) as runner:
        runner.get_loop()  # it opens descriptors
        drop_privileges()
        runner.run(_serve(uvicorn.Server(config), hub, listener, channel))


async def _serve(server: uvicorn.Server, hub: Hub, listener: int, channel: int) -> None:
    """Serves until the channel closes."""
    connection = socket.socket(fileno=channel)
    connection.setblocking(False)
    receiving = asyncio.create_task(hub.serve(connection))
    serving = asyncio.create_task(server.serve(sockets=[socket.socket(fileno=listener)]))
    print("ready", flush=True)
    await asyncio.wait({receiving, serving}, return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    with contextlib.suppress(asyncio.CancelledError):
        await serving


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the fabric's process ends this one
    main(int(sys.argv[1]), int(sys.argv[2]))

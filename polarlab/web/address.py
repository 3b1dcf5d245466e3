"""Address of the live page: parsed from `--web`, and opened before anything else starts."""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
import socket
from dataclasses import dataclass, field
from pathlib import Path

from topology.errors import MachineError, ParameterError

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8642
_MAX_BACKLOG = 2048  # the kernel drops further connections, which clients retry after a second
_FORM = re.compile(r"(?:(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]]+):)?(?P<port>\d{1,5})")


@dataclass(frozen=True)
class WebAddress:
    """The address on which the page listens.

    Attributes:
        host: name or IP address, without brackets.
        port: TCP port; 0 for any free port.
        certificate, key: PEM files of a TLS certificate and its key; None for plain HTTP.
        token: secret that every client needs; empty if all users of this machine have access.
    """

    host: str
    port: int
    certificate: Path | None = None
    key: Path | None = None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    def __post_init__(self) -> None:
        if not self.token and not self.loopback:
            raise ParameterError(
                f"--web-open is for pages that only this machine can reach, got {self.host}; "
                "leave out --web-open"
            )

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the address."""
        return is_loopback(self.host)

    def url(self, port: int) -> str:
        """Returns the page's address for a browser, with the token if there is one.

        Args:
            port: the listening port.
        """
        host = f"[{self.host}]" if ":" in self.host else self.host
        if self.host in ("0.0.0.0", "::"):  # noqa: S104  # every address of this machine
            host = socket.gethostname()
        token = f"?token={self.token}" if self.token else ""
        return f"{'https' if self.certificate else 'http'}://{host}:{port}/{token}"

    def listen(self) -> socket.socket:
        """Returns a listening socket.

        Raises:
            MachineError: the port is taken, or the address does not belong to this machine.
        """
        try:
            infos = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            family, kind, protocol, _, place = infos[0]
            listener = socket.socket(family, kind, protocol)
        except OSError as error:
            raise MachineError(f"--web cannot listen on {self.host}: {error.strerror}") from error
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(place)
            listener.listen(_MAX_BACKLOG)
        except OSError as error:
            listener.close()
            raise MachineError(
                f"--web cannot listen on {self.host}:{self.port} ({os.strerror(error.errno or 0)}); "
                f"choose another port, such as --web={self.port + 1 if self.port < 65_535 else DEFAULT_PORT}"
            ) from error
        return listener


def is_loopback(host: str) -> bool:
    """Returns whether a host is a loopback address or `localhost`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def parse_address(
    text: str | bool,
    certificate: str | Path | None = None,
    key: str | Path | None = None,
    *,
    open_to_all: bool = False,
) -> WebAddress:
    """Returns the address that `--web=[HOST:]PORT` names; `--web` alone, or True, is 127.0.0.1:8642.

    Args:
        text: the address.
        certificate: file of a TLS certificate; None for plain HTTP.
        key: file of its key; None for plain HTTP.
        open_to_all: whether all users of this machine have access without a token.

    Raises:
        ParameterError: the text is not an address, a file is missing, or other machines could reach a page
            that is open to all.
    """
    host, port = DEFAULT_HOST, DEFAULT_PORT
    if isinstance(text, str) and text:
        match = _FORM.fullmatch(text)
        if not match or int(match["port"]) > 65_535:
            raise ParameterError(f"--web must be [HOST:]PORT with a port of 0 to 65535, got {text!r}")
        host, port = (match["host"] or DEFAULT_HOST).strip("[]"), int(match["port"])
    if (certificate is None) != (key is None):
        raise ParameterError("--web-certificate and --web-key must be given together")
    for name, path in (("certificate", certificate), ("key", key)):
        if path is not None and not Path(path).is_file():
            raise ParameterError(f"--web-{name} must be a file, got {path}")
    files = (Path(certificate) if certificate else None, Path(key) if key else None)
    return WebAddress(host, port, *files, token="") if open_to_all else WebAddress(host, port, *files)


Web = str | bool | int | WebAddress | None


def web_address(web: Web, *, open_to_all: bool = False) -> WebAddress | None:
    """Returns the page's address from the `web` argument of a Python function; None for no page.

    Args:
        web: the argument.
        open_to_all: whether all users of this machine have access without a token.

    Raises:
        ParameterError: `web` is not an address, or cannot be open to all.
    """
    if web is None or web is False:
        if open_to_all:
            raise ParameterError("--web-open is for the live page; also give --web")
        return None
    if isinstance(web, WebAddress):
        return web
    return parse_address(web if web is True else str(web), open_to_all=open_to_all)

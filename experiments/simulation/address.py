"""Checks the address of a cluster's scheduler, and whether this process may trust that scheduler.

Both are checked before the simulator is loaded. Whoever answers as a scheduler or a worker can run code in
this process, as dask.distributed sends Python objects.
"""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass
from pathlib import Path

from topology.errors import ParameterError, UsageError

_ADDRESS = re.compile(r"(tcp|tls)://(\[[^]/\s]+\]|[^/\s]+?):\d+")
TLS_FILES = ("ca.pem", "certificate.pem", "key.pem")  # the authority's, and this process's


@dataclass(frozen=True)
class Scheduler:
    """The scheduler of a cluster.

    Attributes:
        address: its address, like tcp://HOST:PORT.
        tls: folder that contains TLS_FILES; None for the TLS files of dask's configuration.
    """

    address: str
    tls: Path | None = None


def trusted_scheduler(address: str, tls: str | os.PathLike[str] | None, insecure: bool) -> Scheduler:
    """Returns a scheduler that this process may trust.

    Args:
        address: its address.
        tls: folder that should contain TLS_FILES; None if the user gave no folder.
        insecure: whether the user trusts whoever answers, even with root's rights.

    Raises:
        ParameterError: the address is malformed.
        UsageError: the scheduler is on another machine and its address has no TLS, a TLS file is missing, or
            this process runs as root.
    """
    kind, host = check_address(address)
    if tls is not None:
        _check_tls(kind, Path(tls))
    if not insecure:
        _check_trust(address, kind, host)
    return Scheduler(address, None if tls is None else Path(tls))


def check_address(address: str) -> tuple[str, str]:
    """Returns the protocol and the host of a scheduler's address.

    Args:
        address: the address.

    Raises:
        ParameterError: it is malformed.
    """
    found = _ADDRESS.fullmatch(address) if isinstance(address, str) else None
    if found is None:
        raise ParameterError(f"scheduler must be tcp://HOST:PORT or tls://HOST:PORT, got {address!r}")
    return found[1], found[2]


def _check_tls(kind: str, folder: Path) -> None:
    if kind != "tls":
        raise UsageError("--cluster-tls needs a scheduler as tls://HOST:PORT, got tcp://; leave it out")
    missing = [name for name in TLS_FILES if not (folder / name).is_file()]
    if missing:
        raise UsageError(
            f"--cluster-tls needs a folder with {', '.join(TLS_FILES)}; {folder} lacks {missing[0]}"
        )


def _check_trust(address: str, kind: str, host: str) -> None:
    if kind == "tcp" and not _is_loopback(host.strip("[]")):
        raise UsageError(
            f"scheduler {address} is on another machine, and whoever answers there can run code here; use "
            "tls://HOST:PORT with --cluster-tls DIR, or --insecure-cluster on a network of your own"
        )
    if os.geteuid() == 0:
        raise UsageError(
            "a cluster can run code in this process, so it must not run as root: run it without sudo, as "
            "simulations need no root, or add --insecure-cluster"
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

"""Form of a scheduler's address, which is checked before anything is loaded to simulate."""

from __future__ import annotations

import re

from topology.errors import ParameterError

_ADDRESS = re.compile(r"(tcp|tls)://[^/\s]+:\d+")


def check_address(address: str) -> None:
    """Raises ParameterError unless a text has the form of a scheduler's address.

    Args:
        address: the address.
    """
    if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
        raise ParameterError(f"scheduler must be tcp://HOST:PORT or tls://HOST:PORT, got {address!r}")

"""Finished results on the live page."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from experiments.events.base import Notify, ignore
from experiments.observation.recording import read_recording
from experiments.results.kinds import folder_of
from experiments.results.open import Failover, Run
from polarlab.web.address import DEFAULT_HOST, Web, WebAddress, web_address
from polarlab.web.page_server import PageServer


@contextlib.contextmanager
def watch(
    results: str | os.PathLike[str] | Run | Failover,
    *,
    web: Web = True,
    web_open: bool = False,
    progress: Notify = ignore,
) -> Iterator[str]:
    """Shows finished results on the live page within a `with` block, and gives the page's address.

    Args:
        results: results of a run or a failover, or their folder.
        web: address of the page, as `8642` or `127.0.0.1:8642`; True for that one, None for any free port.
        web_open: whether all users of this machine may open the page, without a token.
        progress: takes the events.

    Raises:
        ParameterError: the folder holds neither, or `web` is not an address.
        MachineError: the page cannot listen there.
    """
    recording = read_recording(folder_of(results))
    address = web_address(0 if web is None else web, open_to_all=web_open)
    with PageServer(address or WebAddress(DEFAULT_HOST, 0), progress) as page:
        page.replay(recording)
        yield page.url

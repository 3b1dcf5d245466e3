"""Shows experiments and finished results on the live page."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.events.base import Event, OnEvent, ignore
from experiments.results.kinds import folder_of
from experiments.results.open import Failover, Run
from polarlab.web.address import DEFAULT_HOST, Web, WebAddress, web_address

if TYPE_CHECKING:  # at run time only where Mininet is known to be there
    from experiments.live_fabric import Watching


@contextlib.contextmanager
def live_page(web: Web, on_event: OnEvent) -> Iterator[tuple[OnEvent, Watching]]:
    """Shows an experiment on the live page during the block, if a page is requested.

    Args:
        web: address of the page; None for no page.
        on_event: callback for progress events.

    Yields:
        A callback for the experiment's progress events, and a function that shows its fabrics on the page.

    Raises:
        ParameterError: `web` is not an address.
        MachineError: the page cannot listen at the address.
    """
    from experiments.live_fabric import unwatched

    address = web_address(web)
    if address is None:
        yield on_event, unwatched
        return
    from polarlab.web.page_server import PageServer

    with PageServer(address, on_event) as page:

        def both(event: Event) -> None:
            page.on_event(event)
            on_event(event)

        yield both, page.watch


@contextlib.contextmanager
def watch(
    results: str | os.PathLike[str] | Run | Failover,
    *,
    web: Web = True,
    web_open: bool = False,
    progress: OnEvent = ignore,
) -> Iterator[str]:
    """Shows finished results on the live page during a `with` block, and yields the page's address.

    Args:
        results: results of a run or a failover, or their folder.
        web: address of the page, such as `8642` or `127.0.0.1:8642`; True for the latter, None for any free
            port.
        web_open: whether all users of this machine may open the page without a token.
        progress: callback for progress events.

    Raises:
        ParameterError: the folder contains neither a run nor a failover, or `web` is not an address.
        MachineError: the page cannot listen at the address.

    Examples:
        With the results of a run in results/tornado:

        >>> with watch("results/tornado", web=None) as address:  # doctest: +ELLIPSIS
        ...     print(address)
        http://127.0.0.1:...
    """
    from experiments.observation.recording import read_recording
    from polarlab.web.page_server import PageServer

    recording = read_recording(folder_of(results))
    address = web_address(0 if web is None else web, open_to_all=web_open)
    with PageServer(address or WebAddress(DEFAULT_HOST, 0), progress) as page:
        page.replay(recording)
        yield page.url

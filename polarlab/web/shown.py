"""The live page around an experiment that is watched."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from experiments.events.base import Event, Notify
from experiments.live_fabric import Watching, unwatched
from polarlab.web.address import Web, web_address
from polarlab.web.page_server import PageServer


@contextlib.contextmanager
def shown(web: Web, notify: Notify) -> Iterator[tuple[Notify, Watching]]:
    """Shows an experiment on the live page during a block, if one is asked for.

    Args:
        web: address of the page; None for no page.
        notify: takes the events.

    Yields:
        What takes the experiment's events, and what has its fabrics watched.

    Raises:
        ParameterError: it is not an address.
        MachineError: the page cannot listen there.
    """
    address = web_address(web)
    if address is None:
        yield notify, unwatched
        return
    with PageServer(address, notify) as page:

        def both(event: Event) -> None:
            page.notify(event)
            notify(event)

        yield both, page.watch

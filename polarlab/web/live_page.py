"""Shows experiments and finished results on the live page."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.events.base import Event, OnEvent, ignore
from experiments.results.kinds import Results, folder_of
from polarlab.web.address import DEFAULT_HOST, Web, WebAddress, web_address

if TYPE_CHECKING:  # at run time only where Mininet is known to be there
    from experiments.live_fabric import LiveFabric
    from experiments.observation.recording import Recording
    from polarlab.web.page_server import PageServer


class NoPage:
    """Stands in for the live page of an experiment that has none: nothing is shown or awaited.

    Attributes:
        on_event: callback for the experiment's progress events.
    """

    def __init__(self, on_event: OnEvent) -> None:
        self.on_event = on_event

    def watch(self, _fabric: LiveFabric) -> contextlib.AbstractContextManager[object]:
        """Shows a fabric during a block."""
        return contextlib.nullcontext()

    def wait_for_viewer(self) -> None:
        """Waits until somebody watches."""

    def replay(self, folder: Path) -> None:
        """Shows results that have just been measured."""


class LivePage(NoPage):
    """The live page of an experiment."""

    def __init__(self, page: PageServer, on_event: OnEvent) -> None:
        super().__init__(on_event)
        self._page = page

        def both(event: Event) -> None:
            page.on_event(event)
            on_event(event)

        self.on_event = both

    def watch(self, fabric: LiveFabric) -> contextlib.AbstractContextManager[object]:
        """Shows a fabric during a block."""
        return self._page.watch(fabric)

    def wait_for_viewer(self) -> None:
        """Waits until somebody watches; see `PageServer.wait_for_viewer`."""
        self._page.wait_for_viewer()

    def replay(self, folder: Path) -> None:
        """Shows results that have just been measured."""
        from experiments.observation.recording import read_recording

        _replay(self._page, read_recording(folder), folder, ended=True)


@contextlib.contextmanager
def live_page(web: Web, on_event: OnEvent) -> Iterator[NoPage]:
    """Shows an experiment on the live page during the block, if a page is requested.

    Args:
        web: address of the page; None for no page.
        on_event: callback for progress events.

    Raises:
        ParameterError: `web` is not an address.
        MachineError: the page cannot listen at the address.
    """
    address = web_address(web)
    if address is None:
        yield NoPage(on_event)
        return
    from polarlab.web.page_server import PageServer

    with PageServer(address, on_event) as page:
        yield LivePage(page, on_event)


@contextlib.contextmanager
def watch(
    results: str | os.PathLike[str] | Results,
    *,
    web: Web = True,
    web_open: bool = False,
    progress: OnEvent = ignore,
) -> Iterator[str]:
    """Shows finished results on the live page during a `with` block, and yields the page's address.

    Args:
        results: results of a run, failovers or a sweep of runs, or their folder.
        web: address of the page, such as `8642` or `127.0.0.1:8642`; True for the latter, None for any free
            port.
        web_open: whether all users of this machine may open the page without a token.
        progress: callback for progress events.

    Raises:
        ParameterError: the folder does not contain such results, or `web` is not an address.
        MachineError: the page cannot listen at the address.

    Examples:
        With the results of a run in results/tornado:

        >>> with watch("results/tornado", web=None) as address:  # doctest: +ELLIPSIS
        ...     print(address)
        http://127.0.0.1:...
    """
    from experiments.observation.recording import read_recording
    from polarlab.web.page_server import PageServer

    folder = folder_of(results)
    recording = read_recording(folder)
    address = web_address(0 if web is None else web, open_to_all=web_open)
    with PageServer(address or WebAddress(DEFAULT_HOST, 0), progress) as page:
        _replay(page, recording, folder)
        yield page.url


def _replay(page: PageServer, recording: Recording, folder: Path, *, ended: bool = False) -> None:
    """Shows results on a page, with a choice of points if there are several."""
    from experiments.observation.recording import read_recording

    read = partial(read_recording, folder) if recording.description.points else None
    page.replay(recording, read, ended=ended)

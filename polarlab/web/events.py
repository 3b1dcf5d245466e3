"""Progress events of the live page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from experiments.events.base import Event


@dataclass(frozen=True)
class PageReady(Event):
    """The page can be opened at an address."""

    url: str

    def __str__(self) -> str:
        return f"live page: {self.url}"


@dataclass(frozen=True)
class ViewerAwaited(Event):
    """Something starts once a browser has opened the page.

    Attributes:
        terminal: whether Enter in the terminal starts it too.
    """

    terminal: bool

    def __str__(self) -> str:
        return f"waiting until a browser opens the page{' or you press Enter' if self.terminal else ''}"


@dataclass(frozen=True)
class PageStays(Event):
    """Results stay on the page."""

    def __str__(self) -> str:
        return "the page shows the result until Ctrl-C"


@dataclass(frozen=True)
class PageShown(Event):
    """A fabric that `polarlab demo web` launched is up, and its live page is ready.

    Such a fabric has no prompt and no experiment: it runs only to be watched and changed on its page.
    """

    url: str

    def __str__(self) -> str:
        return f"open {self.url} in a browser and click a link to cut it; Ctrl-C takes the fabric down"


@dataclass(frozen=True)
class PageEnded(Event):
    """The web process ended; the fabric continues.

    Attributes:
        reason: the violation for which it was killed; empty if it ended by itself.
    """

    reason: str = ""

    def __str__(self) -> str:
        if self.reason:
            return f"the process of the live page {self.reason} and was killed; the fabric continues"
        return "the process of the live page has ended; the fabric continues without the page"


@dataclass(frozen=True)
class PageTrouble(Event):
    """The web process wrote to its standard error.

    Attributes:
        log: file with the output.
    """

    log: Path

    def __str__(self) -> str:
        return f"the process of the live page reported an error; see {self.log}"

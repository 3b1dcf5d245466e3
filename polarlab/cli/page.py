"""The live page on the command line: its options and its address."""

from __future__ import annotations

import argparse
import contextlib
import threading
from collections.abc import Sequence

from polarlab import UsageError
from polarlab.api.command_line.events import Event
from polarlab.cli.progress import ConsoleProgress
from polarlab.process import Terminated
from polarlab.web.address import WebAddress, parse_address, web_address

# The default fabric, with light traffic.
_DEMO_FABRIC = ("polarfly", "--q", "5")
_DEMO_ROUTING, _OTHER_DEMO_ROUTING = "ugal-pf", "ugal"  # of PolarFly, and of other families
DEMO_PATTERN, DEMO_LOAD = "uniform", 0.3  # the load is lowered if the machine cannot carry it


DEMO_HELP = f"""usage: polarlab demo web [NAME PARAMETERS] [OPTIONS]

a fabric on the live page in the browser, with light traffic ({DEMO_PATTERN} at up to {DEMO_LOAD:g}), until
Ctrl-C takes it down (root)

The default fabric is ER_5 (polarfly --q 5). All options of `polarlab up` but --exec apply; these
have other defaults:
  --link-rate RATE      rate of every port (default 2Mbit, or less if the machine cannot keep up)
  --routing ROUTING     routing algorithm (default {_DEMO_ROUTING}; {_OTHER_DEMO_ROUTING} on other families)
  --web [HOST:]PORT     address of the page (default 127.0.0.1:8642)
  --web-open            no token: every user of this machine has access
  --wait                wait with the traffic until a browser opens the page or you press Enter
  -h, --help            show this help message and exit

examples:
  sudo polarlab demo web
  sudo polarlab demo web polarstar --q 3 --supernode iq --degree 3
  sudo polarlab demo web --web=8080 --hosts 2
"""


def demo_words(words: Sequence[str]) -> list[str]:
    """Returns the words of the `polarlab up` command that `demo web` stands for.

    Args:
        words: the words after `demo web`: a family with its parameters, and options of `up`.
    """
    named = words and not words[0].startswith("-")
    given = {word.partition("=")[0] for word in words}
    fabric = words if named else [*_DEMO_FABRIC, *words]
    routing = _DEMO_ROUTING if fabric[0].lower() == _DEMO_FABRIC[0] else _OTHER_DEMO_ROUTING
    defaults = {"--routing": routing, "--web": ""}
    return [*fabric, *(f"{name}={value}" for name, value in defaults.items() if name not in given)]


def page_address(arguments: argparse.Namespace) -> WebAddress | None:
    """Returns the requested address of the live page; None for no page.

    Raises:
        UsageError: the address is malformed, a file is missing, or an option lacks another one that it needs.
    """
    certificate, key = (getattr(arguments, name, None) for name in ("web_certificate", "web_key"))
    web, open_to_all = getattr(arguments, "web", None), bool(getattr(arguments, "web_open", False))
    if web is None:
        if certificate or key:
            raise UsageError("--web-certificate and --web-key need --web")
        return web_address(None, open_to_all=open_to_all)
    return parse_address(web, certificate, key, open_to_all=open_to_all)


def wait_for_the_end(progress: ConsoleProgress, event: Event | None = None) -> None:
    """Prints an event and waits for Ctrl-C or another signal that ends the page.

    Args:
        progress: prints the event.
        event: the event; None for no event.
    """
    with contextlib.suppress(KeyboardInterrupt, Terminated):
        if event:
            progress(event)
        progress.rest()
        threading.Event().wait()

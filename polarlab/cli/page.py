"""The live page on the command line: the address that its options name."""

from __future__ import annotations

import argparse
import contextlib
import threading
from collections.abc import Sequence

from polarlab import UsageError
from polarlab.process import Terminated
from polarlab.web.address import WebAddress, parse_address, web_address

WEB = "web"  # the demonstration of this name
# Its fabric, where nothing else is asked for, and gentle traffic.
_DEMO_FABRIC = ("polarfly", "--q", "5")
_DEMO_OPTIONS = {"--routing": "ugal-pf", "--web": ""}
DEMO_PATTERN, DEMO_LOAD = "uniform", 0.3  # less where links are faster than the machine


DEMO_HELP = f"""usage: polarlab demo web [NAME PARAMETERS] [OPTIONS]

a fabric on the live page in the browser, with gentle traffic ({DEMO_PATTERN} at up to {DEMO_LOAD:g}), until
Ctrl-C takes it down (root)

Without NAME it is ER_5 (polarfly --q 5). It has all options of `polarlab up` but --exec, these
with other defaults:
  --link-rate RATE      rate of every port (default 2Mbit, or less where the traffic is too much for
                        the machine)
  --routing ROUTING     routing algorithm (default {_DEMO_OPTIONS["--routing"]})
  --web [HOST:]PORT     address of the page (default 127.0.0.1:8642)
  --web-open            no token, for all users of this machine
  -h, --help            show this help message and exit

examples:
  sudo polarlab demo web
  sudo polarlab demo web polarstar --q 3 --supernode iq --degree 3
  sudo polarlab demo web --web=8080 --hosts 2
"""


def demo_words(words: Sequence[str]) -> list[str]:
    """Returns the words of `polarlab up` that a demonstration of the page is.

    Args:
        words: those behind `demo web`: a family with its parameters, and options of `up`.
    """
    named = words and not words[0].startswith("-")
    given = {word.partition("=")[0] for word in words}
    options = [f"{name}={value}" for name, value in _DEMO_OPTIONS.items() if name not in given]
    return [*(() if named else _DEMO_FABRIC), *words, *options]


def page_address(arguments: argparse.Namespace) -> WebAddress | None:
    """Returns the address of the live page that a command line asks for; None for no page.

    Raises:
        UsageError: it is not an address, a file is missing, or an option needs another one.
    """
    certificate, key = (getattr(arguments, name, None) for name in ("web_certificate", "web_key"))
    web, open_to_all = getattr(arguments, "web", None), bool(getattr(arguments, "web_open", False))
    if web is None:
        if certificate or key:
            raise UsageError("--web-certificate and --web-key are for the live page; give --web as well")
        return web_address(None, open_to_all=open_to_all)
    return parse_address(web, certificate, key, open_to_all=open_to_all)


def wait_for_the_end() -> None:
    """Returns when the user ends a page that nothing else ends, by Ctrl-C or another signal."""
    with contextlib.suppress(KeyboardInterrupt, Terminated):
        threading.Event().wait()

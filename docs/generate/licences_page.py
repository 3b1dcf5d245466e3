"""The page on licences, made from the lock file and from the metadata of the packages in this environment.

`python docs/generate/licences_page.py`, or `make licences`, generates it. It has no versions, so that only
new packages and new licences change it.
"""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "licences.md"
_LOCKED = ROOT / "vagrant" / "locked.py"
# Use -> the extras that are installed for it. A package has its first use.
USES = {
    "PolarLab": ("ryu",),
    "notebooks": ("notebooks",),
    "cluster": ("cluster",),
    "classes of routers": ("symmetry",),
    "bisections": ("paper",),
    "documentation": ("docs",),
    "tests": ("test",),
}
_CLASSIFIER = re.compile(r"License :: (?:OSI Approved :: )?(.+)")
_TEXT = """# Licences

This page lists the licences of everything that PolarLab needs or contains. PolarLab itself is under Apache-2.0
(`LICENSE`).

- The wheel contains two libraries of the live page, Cytoscape.js and uPlot, both MIT; their licences are beside
  them in `polarlab/web/page/vendor/`. It contains no part of any package below.
- The wheel contains data of others. The flow sizes in `traffic/workload/flows/` are points of published figures, as listed in
  github.com/datacenter/empirical-traffic-gen, which states no licence. `experiments/reference/` has results of the PolarFly authors'
  simulator, a BookSim (BSD), and nothing of its code.
- Fabrics use Debian's packages: Mininet (BSD-like), Open vSwitch and openssl (Apache-2.0), iperf3 and tcpdump (BSD), iputils-ping
  (BSD and GPL), iproute2, procps, kmod, net-tools and util-linux (GPL, some of it LGPL). The container image adds tini (MIT).
- scapy is GPL-2.0-only. The Free Software Foundation considers Apache-2.0 incompatible with version 2 of the GPL. This
  concerns those who distribute PolarLab together with scapy, for example in the image of a container; it does not
  concern those who install and use both.
- igraph (GPL) and pymetis (MIT and Apache-2.0) are optional, the extras `symmetry` and `paper`. Neither is in the container image.

The packages are those of `vagrant/requirements.lock`, and the licences are those that their own metadata state. The
list of components of a release (`make release`) has their versions. `make licences` generates this page.

| package | licence | needed for |
|---|---|---|
"""  # noqa: E501


def licences_page() -> str:
    """Returns the page."""
    rows = {name: f"| {name} | {licence_of(name)} | {use} |\n" for name, use in uses().items()}
    return _TEXT + "".join(rows[name] for name in sorted(rows))


def uses() -> dict[str, str]:
    """Returns package -> use, for all packages of the lock file."""
    found = dict.fromkeys(_names(), "installation")
    for use, extras in reversed(USES.items()):
        found |= dict.fromkeys(_names(*extras), use)
    return found


def licence_of(name: str) -> str:
    """Returns the licence that an installed package states: an expression, else its classifiers or text."""
    fields: dict[str, Any] = importlib.metadata.metadata(name).json
    if expression := fields.get("license_expression"):
        return str(expression)
    classifiers = [_CLASSIFIER.fullmatch(one) for one in fields.get("classifier", ())]
    if named := [found[1] for found in classifiers if found]:
        return ", ".join(named)
    return next(iter(str(fields.get("license", "")).splitlines()), "not stated")


def _names(*extras: str) -> list[str]:
    command = [sys.executable, str(_LOCKED), *extras]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return re.findall(r"^([A-Za-z0-9][\w.-]*)==", text, re.MULTILINE)


if __name__ == "__main__":
    PAGE.write_text(licences_page())

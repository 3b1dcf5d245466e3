"""Cost of networks of optical I/O, in links for 1,024 nodes (Fig 15), where all accept the same traffic.

The paper divides by the accepted share of the bandwidth, which takes simulations; here it is the same for
all, so that what is compared are the links themselves.
"""

from __future__ import annotations

from experiments.papers.model import Effort, Found

_NODES = 1024
_LEVELS, _SWITCHES, _TOP_SWITCHES, _SWITCH_LINKS, _NODE_LINKS = 10, 512, 256, 32, 16
# Links of a direct network's node: 4 modules of 8 links of PolarFly and Slim Fly, 6 of Dragonfly.
_LINKS = {"PolarFly": 32, "Slim Fly": 32, "Dragonfly": 48}


def cost(_effort: Effort) -> Found:
    """Returns the optical links of networks of 1,024 nodes, and their ratio to PolarFly's."""
    switches = (_LEVELS - 1) * _SWITCHES + _TOP_SWITCHES
    links = {name: _NODES * each for name, each in _LINKS.items()}
    links["fat tree"] = switches * _SWITCH_LINKS + _NODES * _NODE_LINKS
    base = links["PolarFly"]
    rows = [{"network": name, "links": n, "over_polarfly": n / base} for name, n in links.items()]
    return Found({"fat tree uniform": links["fat tree"] / base}, rows)

"""Dragonflies: groups of routers, completely joined by global links.

`dragonfly` has two levels and `dragonfly3` three; `global_links` has the arrangements of their global links,
which Megafly (`topology.families.hierarchical.megafly`) uses, too.
"""

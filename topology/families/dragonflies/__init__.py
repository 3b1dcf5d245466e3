"""Dragonflies: groups of routers that are fully connected by global links.

`dragonfly` has two levels and `dragonfly3` three; `global_links` contains the arrangements of their global
links, which Megafly (`topology.families.hierarchical.megafly`) also uses.
"""

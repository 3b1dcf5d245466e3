"""Families of random networks: Jellyfish, Xpander, and rings with random shortcuts (DLN).

A seed gives the same graph with every version of every library (`generator`). `regular` draws the regular
graphs for Jellyfish and for the shortcuts.
"""

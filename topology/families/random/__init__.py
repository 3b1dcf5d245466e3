"""Families of random networks: Jellyfish, Xpander, and rings with random shortcuts (DLN).

A seed means the same graph with every version of every library (`generator`). `regular` draws the regular
graphs of Jellyfish and of the shortcuts.
"""

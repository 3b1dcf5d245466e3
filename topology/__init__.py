"""Graphs and their mathematics: pure, no I/O, importing none of the other parts."""

"""Graphs and their mathematics, importing none of the other parts; of the outside it reads files only."""

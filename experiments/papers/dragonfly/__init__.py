"""Claims of the dragonfly paper as data, and the computations of its figures and tables."""

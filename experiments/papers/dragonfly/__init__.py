"""Claims of the dragonfly paper as data, and the code that computes its figures and tables."""

"""Claims of the PolarFly paper as data, and the computations of its figures and tables."""

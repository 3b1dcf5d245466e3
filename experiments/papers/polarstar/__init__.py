"""Claims of the PolarStar paper as data, and the computations of its figures and tables."""

"""Claims of the PolarStar paper as data, and the code that computes its figures and tables."""

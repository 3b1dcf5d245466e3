"""Claims of the PolarFly paper as data, and the code that computes its figures and tables."""

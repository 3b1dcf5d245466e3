"""Claims of the Slim Fly paper as data, and the computations of its figures and tables."""

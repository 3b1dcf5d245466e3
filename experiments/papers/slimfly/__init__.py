"""Claims of the Slim Fly paper as data, and the code that computes its figures and tables."""

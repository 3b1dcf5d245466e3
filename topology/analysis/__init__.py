"""Analyses of graphs: balance, symmetry, bisection, resilience, triangles, path counts."""

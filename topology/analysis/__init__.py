"""Analyses of graphs: balance, symmetry, bisections, failures of links, triangles, numbers of paths."""

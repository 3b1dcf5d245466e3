"""Reproductions of papers: their claims as data, and the computations of their figures and tables.

- `claims.py`: claims with the paper's value and a tolerance, which were committed before any computation.
- A folder for each paper, with its `claims.csv` and the modules that compute its items.
"""

"""Reproductions of papers: their claims as data, and the code that computes their figures and tables.

- `claims.py`: claims with the paper's value and a tolerance, both committed before any computation.
- A folder for each paper, with its `claims.csv` and the modules that compute its figures and tables.
"""

"""Performance of a paper's networks by simulation: curves over the load, and where they end.

- `model.py`: curves to measure, and their points.
- `search.py`: the loads that are tried, one after the other, until a network saturates.
- `store.py`: points that were simulated, kept in the folder of the items.
- `curves.py`: the simulations.
"""

"""Performance of a paper's networks by simulation: curves over the load, and where they end.

- `model.py`: curves to measure, and their points.
- `search.py`: the loads that are tried, one after the other, until a network saturates.
- `series.py`: curves of several networks and patterns, by name and as data.
- `store.py`: points that were simulated, kept in the folder of the items.
- `curves.py`: the simulations.
"""

"""Performance of a paper's networks by simulation: curves versus load, up to saturation.

- `model.py`: curves to measure, and their points.
- `series.py`: curves of several networks and patterns, by name and as data.
- `store.py`: simulated points, kept in the folder of the paper.
- `digests.py`: digests that identify simulated points.
- `failures.py`: links that fail before the first packet.
- `curves.py`: the simulations.
"""

"""Classic networks by formulas: HyperX, tori and hypercubes, and Long Hop, a hypercube with more links.

But for Long Hop they are Cartesian products: a router is a tuple of coordinates, and a link changes one of
them. `product` has all that follows from this, for any factor graph; `shapes` reads texts like `4x4x4`.
"""

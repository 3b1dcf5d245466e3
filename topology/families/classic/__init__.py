"""Classic networks as Cartesian products: HyperX, tori and hypercubes, by formulas.

A router is a tuple of coordinates, and a link changes one of them. `product` has all that follows from this,
for any factor graph; `shapes` reads texts like `4x4x4`.
"""

"""Classic networks with formulas: HyperX, tori, hypercubes, and Long Hop (hypercubes with extra links).

All but Long Hop are Cartesian products: a router is a tuple of coordinates, and a link changes one of them.
`product` computes distances and next hops from the coordinates; `shapes` reads texts like `4x4x4`.
"""

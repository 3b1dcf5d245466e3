"""Families of low-diameter networks from finite fields: PolarFly, PolarStar, Slim Fly and their rivals.

`polarfly`, `polarfly_detours` and `expanded_polarfly`, which has the entry, belong to PolarFly;
`polarstar_designs`, `supernodes` and `bdf_supernodes` to PolarStar; `star_product` to PolarStar and to
Bundlefly.
"""

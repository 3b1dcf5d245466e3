"""Low-diameter families built from finite fields: PolarFly, PolarStar, Slim Fly and their competitors.

`polarfly`, `polarfly_detours`, `expanded_polarfly` (with the registry entry) and `expanded_detours` belong to
PolarFly; `polarstar_designs`, `supernodes` and `bdf_supernodes` to PolarStar; PolarStar and Bundlefly share
`star_product`.
"""

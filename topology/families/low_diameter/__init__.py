"""Low-diameter families built from finite fields: PolarFly, PolarStar, Slim Fly and their competitors.

`polarfly`, `polarfly_detours` and `expanded_polarfly` (with the registry entry) belong to PolarFly;
`polarstar_designs`, `supernodes` and `bdf_supernodes` to PolarStar; PolarStar and Bundlefly share
`star_product`.
"""

"""Families of low-diameter networks from finite fields: PolarFly, PolarStar and Slim Fly.

`polarfly_detours` and `supernodes` are parts of PolarFly and PolarStar.
"""

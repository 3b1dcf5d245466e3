"""Families of topologies, one module each: PolarFly, PolarStar, Slim Fly, graphs from files."""

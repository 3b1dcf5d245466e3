"""Costs of networks: racks on a floor, cable lengths, prices of routers and cables, power."""

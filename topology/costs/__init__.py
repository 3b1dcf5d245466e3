"""Costs of networks: racks on a floor, lengths of cables, prices of routers and cables, power."""

"""Simulations: runs plans and workloads on the packet simulator, and writes their results."""

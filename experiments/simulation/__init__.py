"""Simulations: a plan and a workload on the packet simulator, and what becomes of them."""

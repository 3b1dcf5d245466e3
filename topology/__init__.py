"""Graphs of routers and their mathematics: families, shortest paths, addresses, failures. No side effects."""

"""Deadlock freedom of plans: channels, their dependencies, and cycles or orders of them."""

"""Deadlock freedom of plans: channels, their dependencies, and circles or orders of them."""

"""Deadlock freedom of plans: channels and their dependencies, which have cycles or an ascending order."""

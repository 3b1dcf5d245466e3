"""Proof of a plan: switches in memory, forwarding states, all pairs, all failures of a set."""

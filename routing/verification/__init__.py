"""Proofs of plans: switches in memory, forwarding states, all pairs of hosts, all failures of a set."""

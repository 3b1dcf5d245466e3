"""Forwarding tables: route plans compiled to arrays, in which the simulator looks up every packet."""

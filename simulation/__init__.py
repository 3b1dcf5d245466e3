"""Packet simulator: runs the route plans and workloads of an emulated fabric without switches."""

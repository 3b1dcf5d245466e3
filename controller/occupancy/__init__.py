"""Occupancy of output queues: its sources, and the handoff of sockets to read queues."""

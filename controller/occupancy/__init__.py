"""Occupancy of output queues: its sources, and the handoff of the sockets that read the queues."""

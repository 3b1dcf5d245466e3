"""Occupancy of output queues: its sources, and how sockets to read queues reach the controller."""

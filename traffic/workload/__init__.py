"""Workloads: patterns, demand matrices, arrivals, schedules, placements, collectives; no packet is sent."""

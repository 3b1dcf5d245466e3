"""Workloads: patterns, demand matrices, arrival processes, schedules, placements and collectives. Pure."""

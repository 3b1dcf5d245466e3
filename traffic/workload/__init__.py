"""Workloads: patterns of who sends to whom, arrivals, schedules, collectives. Pure."""

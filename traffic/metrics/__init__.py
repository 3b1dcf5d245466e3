"""Metrics of traffic: measurements, counters, histograms, reordering, windows, steady state. Pure."""

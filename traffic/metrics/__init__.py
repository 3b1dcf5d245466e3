"""Metrics of traffic: counters, histograms, reordering, windows. Pure."""

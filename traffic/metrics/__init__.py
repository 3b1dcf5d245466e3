"""Traffic metrics: measurements, counters, histograms, reordering, windows, steady state. Pure."""

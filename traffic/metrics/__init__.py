"""Traffic metrics: measurements, counters, histograms, reordering, windows, steady state; without I/O."""

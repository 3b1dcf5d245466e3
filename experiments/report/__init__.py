"""Reports: one HTML page for results of any kind."""

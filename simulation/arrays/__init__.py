"""Arrays of a simulated network at its begin."""

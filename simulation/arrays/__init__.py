"""Arrays of a simulated network at the start of a simulation."""

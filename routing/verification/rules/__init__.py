"""Rules and groups of a fabric as arrays, which look-ups for many destinations at once need."""

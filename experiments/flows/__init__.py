"""TCP flows on a live fabric."""

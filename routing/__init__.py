"""Route plans: rules and groups of all switches, and the proof that they deliver packets. No side effects."""

"""Route plans: the rules and groups of every switch, and the proof that they deliver. No side effects."""

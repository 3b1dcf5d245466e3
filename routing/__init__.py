"""Route plans: the rules and groups that every switch shall hold, and the proof that they deliver. Pure."""

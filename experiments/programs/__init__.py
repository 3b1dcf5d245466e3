"""A user's own programs on a fabric: in a run, with or instead of generated traffic, and in a session."""

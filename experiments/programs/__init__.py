"""Programs of a user on a fabric: in a run, beside or instead of generated traffic, and in a session."""

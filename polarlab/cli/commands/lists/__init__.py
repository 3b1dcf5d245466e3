"""Commands that print lists: families, patterns, routings, citations, and keys of experiment files."""

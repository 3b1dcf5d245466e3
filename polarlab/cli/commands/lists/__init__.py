"""Commands that list what there is: patterns, routings, keys of experiment files."""

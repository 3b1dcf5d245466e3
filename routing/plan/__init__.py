"""The plan of a fabric as plain data: rules, groups and tables, and their description."""

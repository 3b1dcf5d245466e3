"""The plan of a fabric as plain data: rules, groups, tables, and their text."""

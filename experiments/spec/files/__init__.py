"""Files of experiments: reading and writing, the places of errors, use by other commands, the schema."""

"""Results of experiments: typed records, result folders, tables and series."""

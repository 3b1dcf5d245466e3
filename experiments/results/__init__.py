"""Results of experiments: typed records, the folders that hold them, tables and series."""

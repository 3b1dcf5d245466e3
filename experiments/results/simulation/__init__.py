"""Results of simulations: typed records, tables, and the summary computed from counts."""

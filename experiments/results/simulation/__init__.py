"""Results of simulations: their typed records, tables, and the summary that follows from what was counted."""

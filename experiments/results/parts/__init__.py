"""Parts of summaries that belong together: faults, collectives, replications."""

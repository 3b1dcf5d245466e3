"""Components of summaries: faults, collectives, flows, programs, replications."""

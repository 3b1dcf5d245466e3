"""Observation of a fabric that is up, for those who watch it: states, events, tables and probes."""

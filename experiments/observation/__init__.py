"""Observation of a running fabric for its viewers: states, events, tables and probes."""

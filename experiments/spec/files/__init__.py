"""Experiment files: reading, writing, error locations, reuse by other commands, and their schema."""

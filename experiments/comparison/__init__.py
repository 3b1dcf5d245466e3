"""Comparison of results: their differing settings and their values, side by side."""

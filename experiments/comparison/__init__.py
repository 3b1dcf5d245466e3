"""Comparison of results: differing settings and values, side by side."""

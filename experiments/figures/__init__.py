"""Figures of topologies and results, drawn by matplotlib."""

"""Axes and curves that figures of all sweeps share."""

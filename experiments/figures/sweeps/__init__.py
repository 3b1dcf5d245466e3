"""Axes and curves shared by all figures of sweeps."""

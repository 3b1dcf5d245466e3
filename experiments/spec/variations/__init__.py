"""Variations of sweeps: the keys that can vary on a standing fabric, and their values."""

"""Mininet networks of real switches: launched, shaped, and taken down."""

"""Specifications of experiments: frozen dataclasses with validated settings."""

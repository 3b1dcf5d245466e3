"""Collective operations as programs of ranks. Pure."""

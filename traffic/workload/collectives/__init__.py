"""Collective operations, their algorithms as programs of ranks, and their execution; without I/O."""

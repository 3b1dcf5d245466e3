"""Kernels: the loops that move packets, compiled to machine code."""

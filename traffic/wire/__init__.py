"""Frames on the wire: probes and segments of collectives as bytes."""

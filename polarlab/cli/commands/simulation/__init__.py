"""Commands of the packet simulator."""

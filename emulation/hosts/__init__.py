"""Hosts apart from the machine: namespaces of their own, of which their root is root, and of nothing else."""

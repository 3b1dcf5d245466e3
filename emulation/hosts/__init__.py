"""Hosts isolated from the machine: each has its own namespaces, and its root is root only there."""

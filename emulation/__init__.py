"""Mininet networks of real switches: launches them, shapes their links, and takes them down."""

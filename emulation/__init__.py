"""Mininet networks of real switches: launches, shapes and takes them down."""

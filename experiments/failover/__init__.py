"""Failover demonstrations: failures under probe traffic, measured."""

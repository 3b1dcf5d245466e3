"""Failover demonstrations: measured failures and repairs under probe traffic."""

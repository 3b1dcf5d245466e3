"""Finite fields GF(q): prime powers, tables, arithmetic on arrays."""

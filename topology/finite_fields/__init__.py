"""Finite fields GF(q): prime powers, addition and multiplication tables, arithmetic on arrays."""

"""Validity of results: what is observed of the machine while traffic runs, and the judgement of it."""

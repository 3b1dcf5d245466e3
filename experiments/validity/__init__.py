"""Validity of results: observations of the machine while traffic runs, and the judgement based on them."""

"""Experiments: one run or many on a live fabric, their results, theory and figures."""

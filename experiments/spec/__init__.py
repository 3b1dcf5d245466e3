"""Specifications of experiments: frozen dataclasses of what is to be run, checked."""

"""Moebius ladders, scattered routing and mirrored traffic: an example of a plug-in for PolarLab."""

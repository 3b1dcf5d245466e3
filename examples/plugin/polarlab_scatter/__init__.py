"""Example of a plug-in for PolarLab: Moebius ladders, scattered routing and mirrored traffic."""

"""PolarLab: low-diameter networks, emulated with real packets, proven and measured."""

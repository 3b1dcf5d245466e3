"""Interactive sessions on a running fabric: faults, measurements and background traffic."""

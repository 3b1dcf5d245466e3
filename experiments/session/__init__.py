"""A session on a fabric that is up: faults, measurements and background traffic, by hand."""

"""The prompt of a fabric: Mininet's command line and its input."""

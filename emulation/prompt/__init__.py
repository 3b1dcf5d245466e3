"""The prompt of a fabric: Mininet's command line, and the lines that it is given."""

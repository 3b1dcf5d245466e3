"""What composes the other parts: the command line, the runner, records and figures."""

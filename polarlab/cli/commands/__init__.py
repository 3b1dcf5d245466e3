"""Commands of the command line, loaded on demand."""

"""Command line: `polarlab COMMAND`."""

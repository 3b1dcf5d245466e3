"""The prompt of a fabric: Mininet's command line with the verbs of a session."""

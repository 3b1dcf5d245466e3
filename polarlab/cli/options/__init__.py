"""Options of the command line, by topic: added to a parser, and read as a specification."""

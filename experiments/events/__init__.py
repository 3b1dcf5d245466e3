"""Events of experiments: typed reports of what is going on, handed to one callable."""

"""Many points: what is still to be done of them, where it is done, and how each is kept."""

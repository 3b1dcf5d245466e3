"""Plans for a surviving graph, and the order in which switches are updated to them."""

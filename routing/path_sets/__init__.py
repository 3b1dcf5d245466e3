"""Path sets: the paths between two routers that a routing allows, if these are not all shortest paths."""

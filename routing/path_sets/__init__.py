"""Path sets: the paths that a routing allows between two routers, where these are not all shortest ones."""

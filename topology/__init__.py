"""Graph families and their mathematics: links, port numbers, routes by formula, faults. Pure."""

"""Fast reroute (RFC 5714): alternates that a switch uses without the controller when a port is dead."""

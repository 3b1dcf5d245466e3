"""Fast reroute (RFC 5714): alternates that a switch takes by itself when a port is dead."""

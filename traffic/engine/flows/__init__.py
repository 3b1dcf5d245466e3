"""TCP flows between hosts: their sockets, and observations of the hosts' interfaces."""

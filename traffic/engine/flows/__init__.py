"""TCP flows between hosts: sockets, and observers of the hosts' interfaces."""

"""The traffic engine: processes that send and receive real packets through sockets of the hosts."""

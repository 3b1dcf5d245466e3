"""Requests to the kernel: namespaces, and the interfaces, addresses, queues and sockets in them."""

"""Requests of this process to the kernel: namespaces; interfaces, addresses, queues and sockets in them."""

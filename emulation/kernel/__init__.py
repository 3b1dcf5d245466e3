"""Requests of this process to the kernel: namespaces, and interfaces, addresses and queues in them."""

"""Routing algorithms, one module each: a source router's rules, and the law that adapts them to queues."""

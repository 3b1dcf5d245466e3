"""Routing algorithms, one module each: rules of a source router, and the law that adapts them to queues."""

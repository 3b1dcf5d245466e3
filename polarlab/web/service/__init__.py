"""The web process: HTTP, without any right but to answer on one port and to ask the fabric's process."""

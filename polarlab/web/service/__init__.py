"""The web process: speaks HTTP; it may only answer on one port and send requests to the fabric's process."""

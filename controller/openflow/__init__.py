"""OpenFlow 1.3: commands as plain data, their codec, and the framework's runtime."""

"""OpenFlow: commands as plain data, their codec in two versions, and the framework's runtime."""

"""OpenFlow: commands as plain data, a codec for two versions, and the framework's runtime."""

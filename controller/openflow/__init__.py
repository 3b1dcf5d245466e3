"""OpenFlow 1.3: commands as plain data, and the only modules that import the controller framework."""

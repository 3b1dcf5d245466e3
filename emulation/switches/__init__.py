"""Parts of the switches: their databases and their first frames."""

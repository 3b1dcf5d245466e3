"""Details of the switches: their databases, their first frames, and the merging of their memory."""

"""Safe reading of input and writing of results, even as root in folders that other users can change."""

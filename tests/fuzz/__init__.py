"""Generated attacks on what users, pages, switches and files can reach; `make fuzz` runs them."""

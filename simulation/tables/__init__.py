"""Route plans as arrays: what the kernels of the simulator look up for every packet."""

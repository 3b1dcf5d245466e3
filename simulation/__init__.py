"""The same plans and workloads on a packet simulator, without switches."""

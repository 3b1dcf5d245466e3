"""Traffic: workloads and metrics (pure), and the real packets that carry them."""

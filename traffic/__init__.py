"""Traffic: workloads and metrics (pure), and the engine that sends and receives real packets."""

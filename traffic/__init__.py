"""Who sends what when, and the processes that send and collect it as real packets."""

"""Results of TCP flows: completion times, slowdowns, and bytes on links."""

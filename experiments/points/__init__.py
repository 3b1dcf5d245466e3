"""Many measurement points: which are missing, where they are computed, and how each is kept."""

"""Items that no paper has: failures, thresholds, a controller's loop, deadlock freedom, fair comparisons."""

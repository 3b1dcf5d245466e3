"""Figures that no paper has: failures, thresholds, controller loops, deadlock freedom, fair comparisons."""

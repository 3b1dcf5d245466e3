"""Experiments: runs, sweeps and sessions on live or simulated fabrics, their results, theory and figures."""

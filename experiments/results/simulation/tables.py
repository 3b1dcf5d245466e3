"""Tables of simulations as CSV files: their names and columns."""

from __future__ import annotations

from experiments.results.tables import Columns

LATENCY_CYCLES = "latency_cycles.csv"
LATENCY_CYCLE_COLUMNS: Columns = {
    "latency_cycles": "middle of a bin of latencies in cycles; bins are one cycle wide below 128 cycles, and "
    "1 to 2 % of the latency beyond",
    "packets": "packets born in the window that arrived with a latency in this bin",
}
PERIODS = "periods.csv"
PERIOD_COLUMNS: Columns = {
    "end_cycle": "end of a period of the window, whose begin is the end of the one before",
    "accepted": "flits that arrived in the period over the injection capacity",
    "packets": "packets that arrived in the period, or were on their last link at its end",
    "latency_mean_cycles": "mean latency of these in cycles; empty if none arrived",
}
HOSTS = "hosts.csv"
HOST_COLUMNS: Columns = {
    "host": "the host",
    "packets": "packets that the host received in the window",
}

"""Tables of simulations as CSV files: their names and columns."""

from __future__ import annotations

from experiments.results.tables import Columns

ITERATIONS = "iterations.csv"
ITERATION_COLUMNS: Columns = {
    "message_bytes": "size of the message in bytes",
    "iteration": "number of the iteration of this size, from 0",
    "start_cycle": "cycle of its begin",
    "completion_cycles": "cycles from its begin until the last rank had its result",
    "ideal_cycles": "cycles that it takes at least",
}
RANK_CYCLES = "rank_cycles.csv"
RANK_COLUMNS: Columns = {
    "message_bytes": "size of the message in bytes",
    "iteration": "number of the iteration of this size, as in `iterations.csv`",
    "rank": "number of the rank",
    "host": "its host",
    "finished_cycles": "cycles from the iteration's begin until the rank had received all and computed",
}
MESSAGES = "messages.csv"
MESSAGE_COLUMNS: Columns = {
    "time_cycles": "cycle from which the message may be sent",
    "source": "host that sends it",
    "destination": "host that receives it",
    "bytes": "its size",
    "message_cycles": "cycles from that time to its last flit's arrival; empty if it did not arrive",
    "ideal_cycles": "cycles that it takes if it waits for no other message",
    "slowdown": "the first of these over the second",
}

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
    "dropped_packets": "packets that were lost in the period, in full queues or by failures",
}
HOSTS = "hosts.csv"
HOST_COLUMNS: Columns = {
    "host": "the host",
    "packets": "packets that the host received in the window",
}

"""The tables that a failover demonstration leaves: their names and columns."""

PROBES = "probes.csv"
EVENTS = "events.csv"
PROBE_COLUMNS = ("time_s", "stream", "sent", "lost", "hops_mean", "hops_max")
EVENT_COLUMNS = ("time_s", "event")
# The streams' names; a stream's number is its packets' flow.
STREAMS = ("watched", "all")

"""Tables of results as CSV files: their names and columns, and how they are read."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from topology.errors import ParameterError, PolarLabError
from topology.files.reading import RESULT_BYTES, FileError, read_text

# The columns of each table by name, with their meaning (docs/reference/keys.md is made of it). Times are
# seconds since the start of the traffic.
Columns = Mapping[str, str]

THROUGHPUT = "throughput.csv"
THROUGHPUT_COLUMNS: Columns = {
    "time_s": "end of the interval, whose begin is the end of the one before",
    "host": "the host",
    "tx_bytes": "bytes of the frames that the host sent in the interval, without frame check sequences",
    "rx_bytes": "bytes of the frames that the host received in the interval, by their time of arrival",
}
PAIRS = "pairs.csv"
PAIR_COLUMNS: Columns = {
    "source": "sending host",
    "destination": "receiving host",
    "distance": "distance of their routers in the graph, in links",
    "sent_frames": "frames that the source sent to the destination in the measured window; of TCP flows in "
    "the whole run by the kernel's counts, acknowledgements included",
    "received_frames": "of these, frames that arrived, however late",
    "latency_mean_ms": "mean one-way latency of these in ms; empty if none arrived",
    "hops_min": "fewest links between routers that a frame of the whole run took; empty if none arrived. Of "
    "TCP flows an estimate: of a random eighth of the frames, empty if none of the pair's is among these",
    "hops_max": "most links between routers that a frame of the whole run took; empty if none arrived. Of "
    "TCP flows an estimate as `hops_min`",
    "out_of_order_frames": "received frames that arrived after a later one of their flow; of TCP flows "
    "segments that arrived while an earlier one was missing (docs/how-to/flows.md)",
}
HOPS = "hops.csv"
HOP_COLUMNS: Columns = {
    "hops": "number of links between routers",
    "packets": "packets sent in the measured window that arrived after so many; of TCP flows an estimate for "
    "all frames of the whole run, eight times those of a random eighth",
}
LATENCY = "latency.csv"
LATENCY_COLUMNS: Columns = {
    "latency_ms": "middle of a bin of one-way latencies in ms; a bin is 1 % wider than the one before",
    "packets": "packets sent in the measured window that arrived with a latency in this bin",
}
LINKS = "links.csv"
LINK_COLUMNS: Columns = {
    "time_s": "end of the interval since the row before of the same link and port",
    "link": "the link by its two switches, `s3-s7` for packets from s3 to s7",
    "port": "port of the sending switch; it tells parallel links apart",
    "tx_bytes": "bytes that the link carried in the interval",
    "dropped_packets": "packets that the link's full queue dropped in the interval (not cumulative)",
    "waiting_packets": "packets in the link's queue at the end of the interval",
}
CPU = "cpu.csv"
CPU_COLUMNS: Columns = {
    "time_s": "end of a second of the measurement",
    "idle": "idle share of all cores in that second, 0 to 1",
    "stolen": "share of all cores' time that a virtual machine's host gave to others, 0 to 1",
}
HELD = "held.csv"
HELD_COLUMNS: Columns = {
    "time_s": "end of a second of the measurement",
    "switch": "name of the switch",
    "frames": "frames that reached the switch's ports in that second",
    "waiting": "mean number of frames that had reached it and that it had not yet taken up",
    "held_frame_times": "mean time for which a frame waited so, in times of a frame on a link",
    "held_rms_frame_times": "root mean square of that time, in times of a frame on a link",
}
# Of a failover demonstration. A stream's number is its packets' flow.
PROBES = "probes.csv"
PROBE_COLUMNS: Columns = {
    "time_s": "begin of an interval of 0.01 s",
    "stream": "`watched` (pairs whose minimal path crosses a failed element) or `all` (pairs, one by one)",
    "sent": "probes of the stream that were sent in the interval",
    "lost": "of these, probes that never arrived",
    "hops_mean": "mean number of links between routers that the others took; empty if none arrived",
    "hops_max": "most links that one of them took; empty if none arrived",
}
STREAMS = ("watched", "all")
EVENTS = "events.csv"
EVENT_COLUMNS: Columns = {
    "time_s": "time of the event",
    "event": "a fault, a restoration, a plan that is in place, a step of a new controller's start, or the "
    "time when all were heard again",
}
# Of a simulation.
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


def read_csv(path: Path, header: Collection[str], later: Sequence[str] = ()) -> dict[str, list[str]]:
    """Returns the columns of a table by name.

    Args:
        path: the CSV file.
        header: names of the columns.
        later: of these, the columns that tables of older versions lack; there they are empty.

    Raises:
        ParameterError: the file is missing, or it lacks one of the columns in `header`.
    """
    try:
        return read_csv_text(read_text(path, RESULT_BYTES), header, later)
    except FileError as error:
        if error.missing:
            raise ParameterError(
                f"{path.parent} does not hold a complete run: {path.name} is missing"
            ) from None
        raise
    except csv.Error:
        raise ParameterError(f"{path} is damaged") from None
    except KeyError:
        raise ParameterError(
            f"{path} is damaged: every row must have the columns {', '.join(header)}"
        ) from None


def read_csv_text(text: str, header: Collection[str], later: Sequence[str] = ()) -> dict[str, list[str]]:
    """Returns the columns of a table by name.

    Args:
        text: content of the CSV file.
        header: names of the columns.
        later: of these, the columns that tables of older versions lack; there they are empty.

    Raises:
        csv.Error: the text is not CSV.
        KeyError: it lacks one of the columns in `header`, or a row is too long or too short.
    """
    reader = csv.reader(io.StringIO(text), strict=True)
    names = next(reader, [])
    places = {name: place for place, name in enumerate(names)}
    if not set(header) - set(later) <= places.keys():
        raise KeyError(*header)
    table: dict[str, list[str]] = {name: [] for name in header}
    for row in filter(None, reader):  # without empty lines
        if len(row) != len(names):
            raise KeyError(*header)
        for name, column in table.items():
            column.append(row[places[name]] if name in places else "")
    return table


@contextlib.contextmanager
def damage_named(*folders: Path) -> Iterator[None]:
    """Turns errors of values in damaged files into a ParameterError that names the folders."""
    try:
        with np.errstate(all="ignore"):  # figures of infinite numbers are no worse for warnings
            yield
    except PolarLabError:
        raise
    except (ValueError, ArithmeticError, IndexError) as error:
        # A reader lets texts pass that are no numbers, and tables without rows.
        named = " or ".join(map(str, folders))
        raise ParameterError(f"{named} is damaged, or of another version of PolarLab") from error

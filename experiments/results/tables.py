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

# Column -> its meaning, from which docs/reference/keys.md is generated. Times are in seconds since the start
# of traffic.
Columns = Mapping[str, str]

# Text of a boolean in a table -> its value; versions before 0.3 wrote `yes` and `no`.
BOOLEANS: Mapping[str, bool] = {"true": True, "false": False, "yes": True, "no": False}

THROUGHPUT = "throughput.csv"
THROUGHPUT_COLUMNS: Columns = {
    "time_s": "end of the interval; it starts at the end of the previous one",
    "host": "the host",
    "tx_bytes": "bytes of the frames that the host sent in the interval, without frame check sequences",
    "rx_bytes": "bytes of the frames that arrived at the host in the interval",
}
PAIRS = "pairs.csv"
PAIR_COLUMNS: Columns = {
    "source": "sending host",
    "destination": "receiving host",
    "distance": "distance of their routers in the graph, in hops",
    "sent_frames": "frames from source to destination sent in the measurement window; for TCP flows, in the "
    "whole run by the kernel's counters, including acknowledgements",
    "received_frames": "frames sent in the measurement window that arrived, even after it",
    "latency_mean_ms": "mean one-way latency of received frames in ms; empty if none arrived",
    "hops_min": "minimum number of links between routers that a frame of the whole run took; empty if none "
    "arrived. For TCP flows, over a random eighth of the frames; empty if it contains none of the pair",
    "hops_max": "maximum number of links between routers that a frame of the whole run took; empty if none "
    "arrived. For TCP flows, an estimate like `hops_min`",
    "out_of_order_frames": "received frames that arrived after a later one of their flow; for TCP flows, "
    "segments that arrived while an earlier one was missing (docs/how-to/flows.md)",
}
HOPS = "hops.csv"
HOP_COLUMNS: Columns = {
    "hops": "number of links between routers",
    "packets": "packets sent in the measurement window that arrived after this many; for TCP flows, an "
    "estimate for all frames of the whole run: eight times the count of a random eighth",
}
LATENCY = "latency.csv"
LATENCY_COLUMNS: Columns = {
    "latency_ms": "middle of a bin of one-way latencies in ms; each bin is 1 % wider than the previous one",
    "packets": "packets sent in the measurement window that arrived with a latency in this bin",
}
LINKS = "links.csv"
LINK_COLUMNS: Columns = {
    "time_s": "end of the interval; it starts at the previous row of the same link and port",
    "link": "both switches, `s3-s7` for packets from s3 to s7",
    "port": "port of the sending switch; distinguishes parallel links",
    "tx_bytes": "bytes that the link carried in the interval",
    "dropped_packets": "packets that the link's full queue dropped in the interval (not cumulative)",
    "waiting_packets": "packets in the link's queue at the end of the interval",
}
CPU = "cpu.csv"
CPU_COLUMNS: Columns = {
    "time_s": "end of a second of the measurement",
    "idle": "idle share of all cores in that second, 0 to 1",
    "stolen": "steal time as a share of all cores' time in that second, 0 to 1",
}
HELD = "held.csv"
HELD_COLUMNS: Columns = {
    "time_s": "end of a second of the measurement",
    "switch": "name of the switch",
    "frames": "frames that reached the switch's ports in that second",
    "waiting": "mean number of frames that waited at its ports to be processed",
    "held_frame_times": "mean time that a frame waited at a port, in transmission times of a frame",
    "held_rms_frame_times": "root mean square of that time, in transmission times of a frame",
}
# Tables of a failover demonstration. The index of a stream in STREAMS is the flow number of its packets.
PROBES = "probes.csv"
PROBE_COLUMNS: Columns = {
    "time_s": "start of an interval of 0.01 s",
    "stream": "`watched` (pairs whose minimal path crosses a failed link or switch) or `all` pairs in turn",
    "sent": "probes of the stream that were sent in the interval",
    "lost": "probes sent in the interval that never arrived",
    "hops_mean": "mean number of links between routers that arrived probes took; empty if none arrived",
    "hops_max": "maximum number of links that one of them took; empty if none arrived",
}
STREAMS = ("watched", "all")
EVENTS = "events.csv"
EVENT_COLUMNS: Columns = {
    "time_s": "time of the event",
    "event": "a failure, a restoration, an installed plan, a step of a new controller's start, or the first "
    "time when all watched pairs were reachable again",
}
# Tables of a simulation.
ITERATIONS = "iterations.csv"
ITERATION_COLUMNS: Columns = {
    "message_bytes": "size of the message in bytes",
    "iteration": "number of the iteration of this size, from 0",
    "start_cycle": "cycle in which it started",
    "completion_cycles": "cycles from its start until the last rank had its result",
    "ideal_cycles": "lower bound of the completion time in cycles",
}
RANK_CYCLES = "rank_cycles.csv"
RANK_COLUMNS: Columns = {
    "message_bytes": "size of the message in bytes",
    "iteration": "number of the iteration of this size, as in `iterations.csv`",
    "rank": "number of the rank",
    "host": "its host",
    "finished_cycles": "cycles from the iteration's start until the rank had received and computed all data",
}
MESSAGES = "messages.csv"
MESSAGE_COLUMNS: Columns = {
    "time_cycles": "cycle from which the message may be sent",
    "source": "sending host",
    "destination": "receiving host",
    "bytes": "size in bytes",
    "message_cycles": "cycles from that time to the arrival of its last flit; empty if it did not arrive",
    "ideal_cycles": "cycles that it takes without contention",
    "slowdown": "`message_cycles` / `ideal_cycles`",
}

LATENCY_CYCLES = "latency_cycles.csv"
LATENCY_CYCLE_COLUMNS: Columns = {
    "latency_cycles": "middle of a bin of latencies in cycles; bins are one cycle wide below 128 cycles, and "
    "1 to 2 % of the latency above",
    "packets": "packets injected in the window that arrived with a latency in this bin",
}
PERIODS = "periods.csv"
PERIOD_COLUMNS: Columns = {
    "end_cycle": "end of a period of the window; it starts at the end of the previous one",
    "accepted": "flits that arrived in the period / injection capacity",
    "packets": "packets that arrived in the period or were on their last link at its end",
    "latency_mean_cycles": "mean latency of these packets in cycles; empty if there are none",
    "dropped_packets": "packets lost in the period, by full queues or failures",
}
HOSTS = "hosts.csv"
HOST_COLUMNS: Columns = {
    "host": "the host",
    "packets": "packets that the host received in the window",
}


def csv_cell(value: object) -> str:
    """Returns a value as the text of a cell in a file; an empty text for None."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def read_csv(path: Path, header: Collection[str], later: Sequence[str] = ()) -> dict[str, list[str]]:
    """Returns column name -> cells of a table.

    Args:
        path: the CSV file.
        header: names of the columns.
        later: columns that tables of older versions may lack; these are returned empty.

    Raises:
        ParameterError: the file is missing, or it lacks one of the columns in `header`.
    """
    try:
        return read_csv_text(read_text(path, RESULT_BYTES), header, later)
    except FileError as error:
        if error.missing:
            raise ParameterError(
                f"{path.parent} does not contain a complete run: {path.name} is missing"
            ) from None
        raise
    except csv.Error:
        raise ParameterError(f"{path} is damaged") from None
    except KeyError:
        raise ParameterError(
            f"{path} is damaged: every row must have the columns {', '.join(header)}"
        ) from None


def read_csv_text(text: str, header: Collection[str], later: Sequence[str] = ()) -> dict[str, list[str]]:
    """Returns column name -> cells of a table.

    Args:
        text: content of the CSV file.
        header: names of the columns.
        later: columns that tables of older versions may lack; these are returned empty.

    Raises:
        csv.Error: the text is not CSV.
        KeyError: the text lacks one of the columns in `header`, or a row is too long or too short.
    """
    text = text[: text.rfind("\n") + 1]  # the last row of a writer that was killed may be incomplete
    reader = csv.reader(io.StringIO(text), strict=True)
    names = next(reader, [])
    places = {name: place for place, name in enumerate(names)}
    if not set(header) - set(later) <= places.keys():
        raise KeyError(*header)
    table: dict[str, list[str]] = {name: [] for name in header}
    for row in filter(None, reader):  # skips empty lines
        if len(row) != len(names):
            raise KeyError(*header)
        for name, column in table.items():
            column.append(row[places[name]] if name in places else "")
    return table


@contextlib.contextmanager
def reporting_corruption(*folders: Path) -> Iterator[None]:
    """Converts the block's errors about wrong values in files to a ParameterError that names the folders."""
    try:
        with np.errstate(all="ignore"):  # drawing damaged numbers must not print warnings
            yield
    except PolarLabError:
        raise
    except (ValueError, ArithmeticError, IndexError) as error:
        # `read_csv` accepts cells that are not numbers, and tables without rows.
        named = " or ".join(map(str, folders))
        raise ParameterError(f"{named} is damaged, or from another version of PolarLab") from error

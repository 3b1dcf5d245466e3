"""Tables of results as CSV files: their names and columns, and how they are read."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from topology.errors import ParameterError

THROUGHPUT = "throughput.csv"
THROUGHPUT_COLUMNS = ("time_s", "host", "tx_bytes", "rx_bytes")
PAIRS = "pairs.csv"
PAIR_COLUMNS = (
    "source",
    "destination",
    "distance",
    "sent_frames",
    "received_frames",
    "latency_mean_ms",
    "hops_min",
    "hops_max",
    "out_of_order_frames",
)
HOPS = "hops.csv"
HOP_COLUMNS = ("hops", "packets")
LATENCY = "latency.csv"
LATENCY_COLUMNS = ("latency_ms", "packets")
LINKS = "links.csv"
LINK_COLUMNS = ("time_s", "link", "port", "tx_bytes", "dropped_packets", "waiting_packets")
CPU = "cpu.csv"
CPU_COLUMNS = ("time_s", "idle")
# Of a failover demonstration. A stream's number is its packets' flow.
PROBES = "probes.csv"
PROBE_COLUMNS = ("time_s", "stream", "sent", "lost", "hops_mean", "hops_max")
STREAMS = ("watched", "all")
EVENTS = "events.csv"
EVENT_COLUMNS = ("time_s", "event")


def read_csv(path: Path, header: Sequence[str], later: Sequence[str] = ()) -> dict[str, list[str]]:
    """Returns the columns of a table by name.

    Args:
        path: the CSV file.
        header: names of the columns.
        later: of these, the columns that tables of older versions lack; there they are empty.

    Raises:
        ParameterError: the file is missing, or it lacks one of the columns in `header`.
    """
    try:
        return read_csv_text(path.read_text(), header, later)
    except FileNotFoundError:
        raise ParameterError(f"{path.parent} does not hold a complete run: {path.name} is missing") from None
    except (csv.Error, UnicodeDecodeError, IsADirectoryError):
        raise ParameterError(f"{path} is damaged") from None
    except KeyError:
        raise ParameterError(
            f"{path} is damaged: every row must have the columns {', '.join(header)}"
        ) from None


def read_csv_text(text: str, header: Sequence[str], later: Sequence[str] = ()) -> dict[str, list[str]]:
    """Returns the columns of a table by name.

    Args:
        text: content of the CSV file.
        header: names of the columns.
        later: of these, the columns that tables of older versions lack; there they are empty.

    Raises:
        csv.Error: the text is not CSV.
        KeyError: it lacks one of the columns in `header`, or a row is too long or too short.
    """
    reader = csv.DictReader(io.StringIO(text), strict=True)
    rows = list(reader)
    names = reader.fieldnames or ()
    # A row that is too long has a column without a name, one that is too short a value that is None.
    uneven = any(None in row or None in row.values() for row in rows)
    if uneven or not set(header) - set(later) <= set(names):
        raise KeyError(*header)
    return {name: [row.get(name, "") for row in rows] for name in header}


@contextlib.contextmanager
def damage_named(folder: Path) -> Iterator[None]:
    """Turns errors that the content of damaged files causes into a ParameterError that names the folder."""
    try:
        yield
    except ParameterError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        raise ParameterError(f"{folder} is damaged, or of another version of PolarLab") from error

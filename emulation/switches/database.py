"""Configuration of a switch: the content of the database from which its ovs-vswitchd reads it.

The database is written before its server starts, as a file that the server then continues: the header and
the schema, which `ovsdb-tool create` writes, and one transaction with all rows. To have `ovs-vsctl` write it
takes a program more for each switch, and as much time as the start of the switch itself.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from topology.links import LinkSpec

MAX_BACKOFF_MS = 1000  # longest wait before a switch calls its controller again; Open vSwitch takes no less
MAX_IDLE_MS = 60_000  # lifetime of a cached flow without packets; Open vSwitch's default is ten seconds
_DATAPATH_TYPES = {"user": "netdev", "kernel": "system"}
# Open vSwitch's own intervals of what an idle switch does, and the least ones for each switch of a fabric. A
# thousand idle switches would otherwise keep a processor busy, and a controller that fills a thousand does
# not answer each within 5 s.
_REVALIDATION_MS, _REVALIDATION_MS_PER_SWITCH = 500, 2  # counters of rules are as old
_STATISTICS_MS, _STATISTICS_MS_PER_SWITCH = 5_000, 60  # counters of ports in the database
_PROBE_MS, _PROBE_MS_PER_SWITCH = 5_000, 60  # of a silent controller

_Row = dict[str, Any]
_Tables = dict[str, dict[str, _Row]]  # name -> row's id -> columns that have not their defaults


@dataclass(frozen=True)
class SwitchSettings:
    """The configuration of one switch.

    Attributes:
        name: the bridge's name, as `s3`.
        dpid: its datapath id.
        namespace_pid: a process in the switch's namespaces.
        ports: (interface, OpenFlow port number) of every port.
        link_spec: properties of its links.
    """

    name: str
    dpid: int
    namespace_pid: int
    ports: tuple[tuple[str, int], ...]
    link_spec: LinkSpec


def configured_database(
    empty: bytes, settings: SwitchSettings, controller: str, datapath: str, switches: int
) -> bytes:
    """Returns the content of a database file that configures a switch.

    Args:
        empty: content of a database file that has the schema and no rows.
        settings: the switch.
        controller: the OpenFlow target to which it connects.
        datapath: `kernel` or `user`.
        switches: number of switches of the fabric; in a large one, each does less while it is idle.
    """
    return empty + _record(_rows(settings, controller, datapath, switches))


def _record(content: Mapping[str, Any]) -> bytes:
    """Returns a record of a database file, in the format of ovsdb(5): a line about its length, and JSON."""
    text = json.dumps({"_comment": "PolarLab", **content}, separators=(",", ":")).encode() + b"\n"
    return (
        b"OVSDB JSON %d %s\n" % (len(text), hashlib.sha1(text, usedforsecurity=False).hexdigest().encode())
        + text
    )


def _rows(settings: SwitchSettings, controller: str, datapath: str, switches: int) -> _Tables:
    name, tables = settings.name, _Tables()

    def row(table: str, **columns: Any) -> list[str]:
        number = str(uuid.uuid4())
        tables.setdefault(table, {})[number] = columns
        return ["uuid", number]

    # Without this, ovs-vswitchd removes the shaping of its ports.
    noop = row("QoS", type="linux-noop")
    local = row("Interface", name=name, type="internal")
    ports = [row("Port", name=name, interfaces=local)]
    for port, number in settings.ports:
        interface = row("Interface", name=port, ofport_request=number)
        ports.append(row("Port", name=port, interfaces=interface, qos=noop))
    bridge = row(
        "Bridge",
        name=name,
        ports=["set", ports],
        # The controller takes the later one; the tools for switches speak the earlier.
        protocols=["set", ["OpenFlow13", "OpenFlow15"]],
        datapath_type=_DATAPATH_TYPES[datapath],
        fail_mode="secure",
        controller=row(
            "Controller",
            target=controller,
            max_backoff=MAX_BACKOFF_MS,
            inactivity_probe=max(_PROBE_MS, switches * _PROBE_MS_PER_SWITCH),
        ),
        other_config=_map({"datapath-id": f"{settings.dpid:016x}", "disable-in-band": "true"}),
    )
    other_config = {
        "n-handler-threads": 1,
        "n-revalidator-threads": 1,
        "max-idle": MAX_IDLE_MS,
        "max-revalidator": max(_REVALIDATION_MS, switches * _REVALIDATION_MS_PER_SWITCH),
        "stats-update-interval": max(_STATISTICS_MS, switches * _STATISTICS_MS_PER_SWITCH),
    }
    row("Open_vSwitch", bridges=bridge, other_config=_map(other_config))
    return tables


def _map(values: Mapping[str, object]) -> list[Any]:
    return ["map", [[key, str(value)] for key, value in values.items()]]

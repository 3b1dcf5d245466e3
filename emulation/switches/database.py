"""Configuration of a switch: the content of the database that its ovs-vswitchd reads.

The database file is written before its server starts; the server then appends to it. It consists of the
header and the schema, as `ovsdb-tool create` writes them, and one transaction with all rows. `ovs-vsctl`
would need one more program per switch, and as much time as the start of the switch itself.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from topology.links import LinkSpec

MAX_BACKOFF_MS = 1000  # longest wait before a switch reconnects; Open vSwitch accepts no smaller value
MAX_IDLE_MS = 60_000  # lifetime of a cached flow without packets; Open vSwitch's default is ten seconds
_DATAPATH_TYPES = {"user": "netdev", "kernel": "system"}
# Open vSwitch's default intervals for the work of an idle switch, and lower bounds per switch of the fabric.
# With the defaults, a thousand idle switches would keep a processor busy, and a controller that installs
# rules on a thousand switches does not answer each within 5 s.
_REVALIDATION_MS, _REVALIDATION_MS_PER_SWITCH = 500, 2  # rule counters are up to this old, too
_STATISTICS_MS, _STATISTICS_MS_PER_SWITCH = 5_000, 60  # update of port counters in the database
_PROBE_MS, _PROBE_MS_PER_SWITCH = 5_000, 60  # echo request to a silent controller

_Row = dict[str, Any]
_Tables = dict[str, dict[str, _Row]]  # table name -> row id -> columns without a default value


@dataclass(frozen=True)
class SwitchSettings:
    """The configuration of one switch.

    Attributes:
        name: the bridge's name, such as `s3`.
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
        switches: number of switches of the fabric; in a large fabric, each does less while idle.
    """
    return empty + _record(_rows(settings, controller, datapath, switches))


def _record(content: Mapping[str, Any]) -> bytes:
    """Returns a record of a database file in the format of ovsdb(5): a line with its length, and JSON."""
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
        # The controller uses the later version; tools such as ovs-ofctl use the earlier one.
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

"""Databases that configure switches, compared with those that Open vSwitch's own programs write."""

import json
import shutil
import subprocess

import pytest

from emulation.open_vswitch import SCHEMA
from emulation.switches.database import SwitchSettings, configured_database
from topology.links import LinkSpec

pytestmark = pytest.mark.skipif(shutil.which("ovsdb-tool") is None, reason="Open vSwitch is not installed")

SETTINGS = SwitchSettings("s1", 0x1F, 1, (("s1-eth1", 1), ("s1-eth2", 2)), LinkSpec(1_000_000, 8))
# The same configuration in the words of ovs-vsctl.
COMMAND = """
    -- set Open_vSwitch . other_config:n-handler-threads=1 other_config:n-revalidator-threads=1
    other_config:max-idle=60000 other_config:max-revalidator=500
    other_config:stats-update-interval=5000
    -- add-br s1 -- set bridge s1 protocols=OpenFlow13,OpenFlow15 datapath_type=netdev fail_mode=secure
    other_config:datapath-id=000000000000001f other_config:disable-in-band=true
    -- set-controller s1 unix:/run/c -- set controller s1 max_backoff=1000 inactivity_probe=5000
    -- --id=@noop create QoS type=linux-noop
    -- add-port s1 s1-eth1 -- set port s1-eth1 qos=@noop -- set interface s1-eth1 ofport_request=1
    -- add-port s1 s1-eth2 -- set port s1-eth2 qos=@noop -- set interface s1-eth2 ofport_request=2
"""
TABLES = ("Open_vSwitch", "Bridge", "Port", "Interface", "Controller", "QoS")


def empty_database(tmp_path):
    """Returns the content of a database file without rows."""
    path = tmp_path / "empty.db"
    subprocess.run(["ovsdb-tool", "create", path, SCHEMA], check=True)
    return path.read_bytes()


def rows(path):
    """Returns the rows of a database by table, with what they refer to in the place of row numbers."""
    selections = [{"op": "select", "table": table, "where": []} for table in TABLES]
    query = json.dumps(["Open_vSwitch", *selections])
    done = subprocess.run(["ovsdb-tool", "query", path, query], capture_output=True, check=True)
    replies = json.loads(done.stdout)
    by_number = {row["_uuid"][1]: row for reply in replies for row in reply["rows"]}

    def resolved(value):
        if isinstance(value, list) and value[:1] == ["uuid"]:
            return named(by_number[value[1]])
        if isinstance(value, list) and value[:1] in (["set"], ["map"]):
            return [value[0], sorted(map(resolved, value[1]), key=json.dumps)]
        return value

    def named(row):
        own = {key: value for key, value in row.items() if key not in ("_uuid", "_version")}
        return {key: resolved(value) for key, value in own.items()}

    return {
        table: sorted(map(named, reply["rows"]), key=json.dumps)
        for table, reply in zip(TABLES, replies, strict=True)
    }


def test_a_configured_database_is_the_one_that_ovs_vsctl_writes(tmp_path):
    theirs, socket = tmp_path / "theirs.db", tmp_path / "socket"
    empty = empty_database(tmp_path)
    theirs.write_bytes(empty)
    server = ["ovsdb-server", theirs, f"--remote=punix:{socket}", f"--unixctl={tmp_path}/control"]
    with subprocess.Popen([*server, "-vconsole:off", "--no-chdir"]) as process:
        try:
            vsctl = ["ovs-vsctl", "--no-wait", "--retry", "--timeout=20", f"--db=unix:{socket}", "init"]
            subprocess.run([*vsctl, *COMMAND.split()], check=True)
        finally:
            process.terminate()
    ours = tmp_path / "ours.db"
    ours.write_bytes(configured_database(empty, SETTINGS, "unix:/run/c", "user", 7))
    assert rows(ours) == rows(theirs)


def test_a_switch_calls_its_controller_again_as_soon_as_open_vswitch_lets_it(tmp_path):
    """Without the setting a switch may wait for 8 s; less than 1,000 ms is not possible."""
    database = tmp_path / "s1.db"
    empty = empty_database(tmp_path)
    database.write_bytes(configured_database(empty, SETTINGS, "unix:controller", "kernel", 7))
    (controller,) = rows(database)["Controller"]
    assert controller["target"] == "unix:controller"
    assert controller["max_backoff"] == 1000
    assert rows(database)["Bridge"][0]["datapath_type"] == "system"


def test_switches_of_a_large_fabric_do_less_while_they_are_idle(tmp_path):
    """Small fabrics have the intervals of Open vSwitch."""
    database, empty = tmp_path / "s1.db", empty_database(tmp_path)
    pace = {}
    for switches in (7, 993):
        database.write_bytes(configured_database(empty, SETTINGS, "unix:c", "user", switches))
        content = rows(database)
        settings = dict(content["Open_vSwitch"][0]["other_config"][1])
        pace[switches] = [int(settings[name]) for name in ("max-revalidator", "stats-update-interval")]
        pace[switches].append(content["Controller"][0]["inactivity_probe"])
    assert pace == {7: [500, 5_000, 5_000], 993: [1_986, 59_580, 59_580]}

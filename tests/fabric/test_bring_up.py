"""Starts of switches: what neighbours notice, and equal pages of memory that the kernel merges."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import QUIET, er_options, eventually, eventually_missing, polarlab

from emulation import requirements
from emulation.network import NetworkSettings, launched
from emulation.switches.page_merging import KSM, SEARCH, merging_available
from experiments.live_fabric import live_fabric

pytestmark = pytest.mark.usefixtures("no_leftovers")
needs_merging = pytest.mark.skipif(
    os.geteuid() != 0 or not merging_available(), reason="this kernel merges no pages for us"
)
# The kernel's settings are those of the whole machine, unlike what `machine.sh` makes.
one_at_a_time = pytest.mark.xdist_group("page-merging")

KILLED = """
import os, sys, time
from emulation import requirements
from polarlab import Fabric
requirements.merging_pays = lambda *size: True
from emulation.switches import page_merging
page_merging.HARDLY_MORE = 0  # the search goes on
with Fabric("polarfly", q=2, link_rate="5Mbit"):
    print("up", flush=True)
    time.sleep(600)
"""


def settings():
    return {name: (KSM / name).read_text().strip() for name in SEARCH}


def merged_kib(pid):
    return int(re.search(r"^KSM: *(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1])


def test_ports_of_switches_are_promiscuous_before_the_switches_start():
    """A switch that makes them so has all its neighbours' programs read of it, port by port."""
    options = er_options(2)
    with launched(NetworkSettings(options.topology, 1, options.links, "user")) as network:
        network.build()
        assert "PROMISC" in network["s1"].cmd("ip -o link show s1-eth1")
        assert "PROMISC" not in network["h1_1"].cmd("ip -o link show h1_1-eth0")


@pytest.mark.slow
@needs_merging
@one_at_a_time
def test_a_fabric_with_merged_pages_delivers_and_leaves_the_settings_as_found(monkeypatch):
    monkeypatch.setattr(requirements, "merging_pays", lambda *_size: True)
    found = settings()
    with live_fabric(er_options(2), QUIET) as fabric:
        fabric.network.finish_merging()
        assert settings() == found
        daemons = [switch.vswitch.processes[-1].pid for switch in fabric.network.switches]
        # A cache of 9 MiB that is filled with the same values at each start.
        assert min(map(merged_kib, daemons)) > 4096
        assert merged_kib(os.getpid()) == 0
        assert eventually_missing(fabric) == 2
        fabric.network.set_interfaces(0, ["s1-eth1"], "down")
        eventually_missing(fabric)
    assert settings() == found


@needs_merging
@one_at_a_time
def test_the_settings_are_as_found_after_a_killed_fabric_is_cleaned_up():
    found = settings()
    with subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout.readline() == "up\n"
        assert settings() == SEARCH
        killed.send_signal(signal.SIGKILL)
    eventually(lambda: polarlab("clean").returncode == 0)
    assert settings() == found

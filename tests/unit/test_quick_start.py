"""The start of a fabric's processes: none loads a library that it does not need, which would take long."""

import json
import os
import subprocess
import sys

import pytest

from controller.openflow.frameworks import QUICK_START

CONTROLLER = "import controller.service; from controller import app; "
CONTROLLER += "from controller.openflow import event_loop; "
SMALL = "from controller.replanner import Replanner; from routing.registry import make_plan; "
SMALL += "from topology.registry import make_topology; "
SMALL += "Replanner(make_plan(make_topology('polarfly', {'q': %d}), 1, 'min')).begin()()"


def loaded(code: str, **environment: str) -> set[str]:
    """Returns the top-level modules that code loads in a process of its own."""
    code += "; import json, sys; print(json.dumps(sorted(sys.modules)))"
    process = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )
    return {name.partition(".")[0] for name in json.loads(process.stdout)}


def test_the_controller_of_a_small_fabric():
    modules = loaded(CONTROLLER + SMALL % 3, **QUICK_START)
    assert "os_ken" in modules
    assert not modules & {"scipy", "setuptools", "pkg_resources", "dns", "eventlet"}


def test_the_controller_of_a_large_fabric_is_ready_to_search_its_graph():
    assert "scipy" in loaded(CONTROLLER + SMALL.replace(".begin()()", "") % 16)


def test_a_run():
    pytest.importorskip("emulation.mininet_library")
    modules = loaded("import experiments.run")
    assert "mininet" in modules
    assert not modules & {"scipy", "setuptools", "pkg_resources", "distutils", "matplotlib", "networkx"}


def test_commands_of_real_packets_do_without_the_simulator():
    modules = loaded("import polarlab.api.fabric, polarlab.api.experiments")
    assert "experiments" in modules
    assert not modules & {"numba", "llvmlite"}


def test_a_graph_of_few_routers_is_searched_without_scipy():
    code = "from topology.registry import make_topology; make_topology('{}', {{'q': {}}}).distance_table"
    assert "scipy" not in loaded(code.format("slimfly", 5))
    assert "scipy" in loaded(code.format("slimfly", 13))


def test_the_command_line_is_read_without_libraries_for_numbers_or_figures():
    modules = loaded("from polarlab.cli.parser import make_parser; make_parser()")
    assert "polarlab" in modules
    assert not modules & {"numpy", "scipy", "matplotlib", "networkx"}

"""What is used of Mininet.

`PYTHONPATH=FOLDER` tests another version of Mininet, whose sources are in that folder.
"""

import ast
import inspect
import re
import subprocess
import sys
from importlib import import_module

import pytest
from support.fixtures.documents import ROOT

# Mininet's name -> what we call, override or read of it, inherited names included.
USED = {
    "mininet.log.lg": "addHandler handlers level removeHandler setLevel",
    "mininet.log.output": "",
    "mininet.net.VERSION": "",
    "mininet.net.Mininet": (
        "__contains__ __getitem__ build built host hosts init items keys links ping pingFull start stop "
        "switches values waitConnected"
    ),
    "mininet.node.Node": (
        "IP _popen cleanup cmd config decoder defaultIntf execed inToNode intfList intfs lastCmd lastPid "
        "master monitor name outToNode params pid pollOut popen ports read readbuf sendCmd sendInt shell "
        "slave startShell stdin stdout terminate waiting waitReadable write"
    ),
    "mininet.node.Host": "configDefault",
    "mininet.node.Switch": "connected dpid stop",
    "mininet.link.Intf": "config ip link mac name node params prefixLen",
    "mininet.link.Link": "intf1 intf2 makeIntfPair",
    "mininet.topo.Topo": "addHost addLink addSwitch build",
    "mininet.cli": "",
    "mininet.cli.CLI": (
        "default do_EOF do_exit do_help do_iperf do_iperfudp do_link do_pingall do_pingallfull "
        "do_pingpair do_pingpairfull do_px do_py do_sh do_source do_switch do_wait do_x getLocals "
        "initReadline inputFile isatty locals mn onecmd prompt waitForNode"
    ),
}


def imported(tree):
    """Returns what a module imports of Mininet, with dots."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mininet"):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if alias.name.startswith("mininet")}
    return names


def test_the_list_has_all_that_is_imported():
    files = (
        path for folder in ("emulation", "experiments", "polarlab") for path in (ROOT / folder).rglob("*.py")
    )
    found = set().union(*(imported(ast.parse(path.read_text())) for path in files))
    assert found == USED.keys()


@pytest.mark.parametrize("name", USED)
def test_mininet_has_what_is_used_of_it(name):
    pytest.importorskip("emulation.mininet_library")
    module, _, attribute = name.rpartition(".")
    used = getattr(import_module(module), attribute)
    assigned = set()  # by methods
    if inspect.isclass(used):
        classes = [one for one in used.__mro__ if one.__module__.startswith("mininet")]
        code = "".join(inspect.getsource(one) for one in classes)
        assigned = set(re.findall(r"self\.(\w+)(?:, self\.\w+)* =", code))
        assigned |= set(re.findall(r", self\.(\w+)(?:, self\.\w+)* =", code))
    assert [one for one in USED[name].split() if not hasattr(used, one) and one not in assigned] == []


def test_mininet_is_imported_without_distutils_and_leaves_no_stand_in():
    """Debian 12's Mininet imports distutils, which newer versions of Python do not have."""
    pytest.importorskip("emulation.mininet_library")
    program = """
import sys
class Removed:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("distutils", "setuptools"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Removed())
sys.path.insert(0, sys.argv[1])
import emulation.mininet_library
assert "distutils" not in sys.modules
from mininet.node import OVSSwitch
OVSSwitch.OVSVersion = "3.1.0"
assert not OVSSwitch.isOldOVS()
"""
    done = subprocess.run([sys.executable, "-c", program, ROOT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

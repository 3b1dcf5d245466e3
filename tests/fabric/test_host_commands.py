"""Hosts apart from the machine, as commands launch them: their owner, their files, their end."""

import json
import os
import shlex
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from conftest import POLARLAB, completed, one_line, polarlab
from support.fixtures.terminal import Terminal

from polarlab import Fabric

ATTACKS = Path(__file__).with_name("host_attacks.py")
UP = ("up", "polarfly", "--q", "2")


@pytest.fixture
def open_path():
    """A folder that all users of the machine may read."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def run_by_others(program):
    """Returns what a program says that another user of the machine runs."""
    others = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    run = ("sh", "-c", '"$0"', str(program))  # setpriv itself would start it with root's rights
    return subprocess.run([*others, *run], capture_output=True, text=True, check=False).stdout


def test_the_caller_of_sudo_is_root_on_hosts_and_owns_what_programs_write(open_path, monkeypatch):
    monkeypatch.setenv("SUDO_UID", "12345")
    monkeypatch.setenv("SUDO_GID", "12346")
    out = open_path / "session"
    program = out / "hosts" / "h1_1" / "id"
    with tempfile.TemporaryDirectory() as beside, monkeypatch.context() as patch:
        Path(beside, "mine").write_text("the caller's")
        os.chown(beside, 12345, 12346)
        patch.chdir(beside)
        with Fabric("polarfly", q=2, out=out) as fabric:
            fabric.host("h1_1").run("cat /proc/self/uid_map /proc/self/gid_map > maps")
            fabric.host("h1_1").run("cp /usr/bin/id id; chmod 6755 id")
            assert run_by_others(program) == ""  # while the fabric is up
            assert fabric.host("h2_1").run("cat $POLARLAB_CALLER_DIR/mine").output == "the caller's"
    assert [entry.name for entry in (out / "hosts").iterdir()] == ["h1_1"]  # no other has files
    (out / "hosts").chmod(0o755)  # as its owner may
    said = run_by_others(program)
    assert "65534" in said
    assert "12345" not in said
    maps = out / "hosts" / "h1_1" / "maps"
    assert (maps.stat().st_uid, maps.stat().st_gid) == (12345, 12346)
    numbers = [line.split() for line in maps.read_text().splitlines()]
    assert (numbers[0], numbers[2]) == (["0", "12345", "1"], ["0", "12346", "1"])
    assert all(int(first) > 65534 for first in (numbers[1][1], numbers[3][1]))
    assert json.loads((out / "manifest.json").read_text())["host_root"] == "own"


def test_real_root_is_the_machines(tmp_path):
    """What does not get through from a host of its own does from one whose root is real."""
    (tmp_path / "here").write_text("of the caller\n")
    given = {"pids": [os.getpid()], "tcp": [], "unix": [], "writable": [str(tmp_path / "here")]}
    given |= {"attacks": ["signals", "writes", "secrets", "rights"]}
    attack = f"/usr/bin/python3 {ATTACKS} {shlex.quote(json.dumps(given))}"
    lines = ("h1_1 cat here", f"h1_1 {attack}", "h1_1 hostname")
    words = [word for line in lines for word in ("--exec", line)]
    done = polarlab(*UP, "--host-root", "real", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "of the caller" in done.stdout
    assert socket.gethostname() in done.stdout.split()
    through = {line.partition(":")[0] for line in done.stdout.splitlines()}
    assert {"writes", "secrets", "rights"} <= through


# A machine of its own, in which no further user namespace can be made.
WITHOUT_NAMESPACES = """
mount -t tmpfs polarlab /run/polarlab
ip link set lo up
echo 0 > /proc/sys/user/max_user_namespaces
exec "$@"
"""


def test_a_kernel_without_user_namespaces_needs_real_root():
    words = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--net", "--fork", "--kill-child"]
    words += ["--mount-proc", "sh", "-ec", WITHOUT_NAMESPACES, "machine", POLARLAB]
    refused = completed([*words, *UP, "--exec", "h1_1 true"])
    assert refused.returncode == 3
    assert "--host-root real" in one_line(refused.stderr)
    findings = json.loads(completed([*words, "doctor", "--json"]).stdout)
    assert "--host-root real" in json.dumps(findings)


def test_no_program_on_a_host_has_the_terminal_of_the_prompt():
    """It could type lines of the prompt."""
    with Terminal([POLARLAB, "up", "polarfly", "--q", "2"]) as terminal:
        terminal.expect("polarlab>")
        terminal.type("px print('has', h1_1.popen(['test', '-t', '0']).wait() == 0)\n")
        assert "has False" in terminal.expect(r"has (True|False)\r?\n")
        terminal.type("exit\n")
        assert terminal.status() == 0

"""Programs and settings in namespaces of nodes."""

import os
import signal
import socket
import subprocess
from functools import partial
from pathlib import Path

import pytest

from emulation.kernel.namespaces import in_namespaces, in_namespaces_of_files, in_new_namespaces
from emulation.kernel.rtnetlink import RouteSocket, add_address
from emulation.kernel.system_calls import bind
from emulation.node_configuration import IFF_PROMISC, IFF_UP, InterfaceSettings
from emulation.subprocesses import CommandError, run, start_in_namespaces

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes namespaces")
KINDS = ("net", "mnt")


def namespaces(process="thread-self"):
    return [os.readlink(f"/proc/{process}/ns/{kind}") for kind in KINDS]


def run_in(node, argv):
    """Runs a program in the namespaces of a node."""
    return run(argv, begin=partial(start_in_namespaces, node))


@pytest.fixture
def node():
    """A process in namespaces of its own."""
    process = in_new_namespaces(lambda: subprocess.Popen(["sleep", "60"]))
    yield process.pid
    process.kill()
    process.wait()


def test_programs_are_in_the_namespaces_and_this_process_stays_in_its_own(node):
    home = namespaces()
    assert all(there != here for there, here in zip(namespaces(node), home, strict=True))
    script = "; ".join(f"readlink /proc/self/ns/{kind}" for kind in KINDS)
    assert run_in(node, ["sh", "-c", script]).split() == namespaces(node)
    assert namespaces() == home
    # The thread that enters is back as well: it would keep the namespaces of an ended node.
    assert {os.readlink(f"/proc/self/task/{task}/ns/net") for task in os.listdir("/proc/self/task")} == {
        home[0]
    }


def test_sysfs_is_that_of_the_node(node):
    assert run_in(node, ["ls", "/sys/class/net"]).split() == ["lo"]


def test_programs_start_in_the_working_directory_of_the_moment(node, tmp_path, monkeypatch):
    for folder in (tmp_path, tmp_path / "deeper"):
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        assert run_in(node, ["pwd"]).strip() == str(folder)
        shell = in_new_namespaces(lambda: subprocess.run(["pwd"], capture_output=True, text=True, check=True))
        assert shell.stdout.strip() == str(folder)


def test_mounts_are_the_nodes_alone(node, tmp_path):
    place, file = tmp_path / "place", tmp_path / "file"
    place.write_text("machine's")
    file.write_text("node's")
    in_namespaces(node, lambda: bind(str(file), str(place)))
    assert run_in(node, ["cat", str(place)]) == "node's"
    assert place.read_text() == "machine's"


def test_namespaces_that_are_open_outlast_their_process(node):
    files = [os.open(f"/proc/{node}/ns/{kind}", os.O_RDONLY) for kind in KINDS]
    there = namespaces(node)
    os.kill(node, signal.SIGKILL)
    try:
        assert in_namespaces_of_files(files, namespaces) == there
    finally:
        for file in files:
            os.close(file)


def test_a_node_that_has_ended_is_an_error_in_words(node):
    ended = subprocess.Popen(["true"])
    ended.wait()
    with pytest.raises(CommandError, match=r"`ip link` .*process"):
        run_in(ended.pid, ["ip", "link"])


def test_an_action_that_fails_leaves_no_thread_in_the_node(node):
    home = namespaces()
    with pytest.raises(ZeroDivisionError):
        in_namespaces(node, lambda: 1 // 0)
    assert in_new_namespaces(lambda: Path("/sys/class/net/lo").exists())
    assert namespaces() == home


def test_settings_of_interfaces(node):
    run_in(node, ["ip", "link", "add", "near", "type", "veth", "peer", "name", "far"])

    def act():
        with InterfaceSettings() as settings, RouteSocket() as kernel:
            settings.set_mtu("near", 9000)
            settings.add_flags("near", IFF_UP | IFF_PROMISC)
            settings.compute_checksums("near")
            add_address(kernel, socket.if_nametoindex("near"), "10.1.2.3/8")
            with pytest.raises(FileExistsError):
                add_address(kernel, socket.if_nametoindex("near"), "10.1.2.3/8")

    in_namespaces(node, act)
    assert "inet 10.1.2.3/8 scope global near" in run_in(node, ["ip", "-o", "address"])
    link = run_in(node, ["ip", "-o", "link", "show", "near"])
    assert "PROMISC" in link
    assert "mtu 9000" in link
    assert "tx-checksumming: off" in run_in(node, ["ethtool", "-k", "near"])
    assert "tx-checksumming: on" in run_in(node, ["ethtool", "-k", "far"])


def test_programs_start_after_the_working_folder_was_removed(node, tmp_path, monkeypatch):
    (tmp_path / "removed").mkdir()
    monkeypatch.chdir(tmp_path / "removed")
    (tmp_path / "removed").rmdir()
    assert run_in(node, ["pwd"]).strip() == "/"

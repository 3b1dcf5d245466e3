"""Hosts apart from the machine: what their root can do at home, and what it cannot do to the machine."""

import contextlib
import ctypes
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from conftest import completed, eventually

from emulation.hosts.identity import host_root
from experiments.events.marks import ProcessEnded
from polarlab import Fabric

PYTHON = "/usr/bin/python3"
ATTACKS = Path(__file__).with_name("host_attacks.py")


@pytest.fixture(scope="module")
def open_folder():
    """A folder of the machine that anybody may write, in no place of a host's own."""
    folder = Path(tempfile.mkdtemp(dir="/var/lib"))
    folder.chmod(0o777)
    (folder / "file").touch()
    (folder / "file").chmod(0o666)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def listening(open_folder):
    """Sockets at which the machine listens: TCP addresses, and paths."""
    with contextlib.ExitStack() as opened, tempfile.TemporaryDirectory() as temporary:
        tcp = opened.enter_context(socket.create_server(("0.0.0.0", 0)))
        paths = [f"{folder}/socket" for folder in (open_folder, temporary, "/run/polarlab")]
        paths.append("\0polarlab-test")
        for path in paths:
            listener = opened.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(path)
            listener.listen()
            if not path.startswith("\0"):
                os.chmod(path, 0o777)
        yield [("127.0.0.1", tcp.getsockname()[1])], paths
        Path("/run/polarlab/socket").unlink()


@pytest.fixture(scope="module")
def victim():
    """A process of the machine of the user who is root on hosts."""
    identity = host_root()
    process = subprocess.Popen(["sleep", "600"], user=identity.user, group=identity.group)
    yield process
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def told():
    """The events of the fabric so far."""
    return []


@pytest.fixture(scope="module")
def fabric(listening, victim, told):
    """ER_2, up after the sockets of the machine were there."""
    del listening, victim
    os.environ["POLARLAB_TEST_SECRET"] = "told"
    before = os.getcwd()  # other tests leave one that only root may enter
    os.chdir("/usr/share")
    try:
        with Fabric("polarfly", q=2, progress=told.append) as up:
            os.chdir(before)
            yield up
    finally:
        os.chdir(before)
        del os.environ["POLARLAB_TEST_SECRET"]


def writable_paths(folder):
    words = ["find", "/etc", "/opt", "/srv", "/usr/local", "/var", "/dev", str(folder)]
    found = completed([*words, "-maxdepth", "4", "-perm", "-0002", "!", "-type", "l"]).stdout.splitlines()
    return [path for path in found if not path.startswith(("/var/tmp", "/dev/", "/proc"))]


def attack(given, *names):
    """Returns the command line that makes the attacks of some names, or all."""
    chosen = {"attacks": names} if names else {}
    return f"{PYTHON} -c {shlex.quote(ATTACKS.read_text())} {shlex.quote(json.dumps({**given, **chosen}))}"


def test_the_root_of_a_host_gets_nothing_of_the_machine(fabric, listening, victim, open_folder):
    tcp, unix = listening
    writable = writable_paths(open_folder)
    assert str(open_folder / "file") in writable
    pids = [os.getpid(), victim.pid, *range(2, 3000)]
    result = fabric.host("h3_1").run(attack({"pids": pids, "tcp": tcp, "unix": unix, "writable": writable}))
    assert result.ok, result
    assert result.output.splitlines() == ["13 attacks done"]


def test_sockets_that_come_later_are_nobodys_too(fabric, open_folder):
    kind = completed(["findmnt", "-no", "FSTYPE", "-T", str(open_folder)]).stdout.strip()
    if kind not in ("ext4", "xfs", "btrfs"):
        pytest.skip(f"{kind} does not tell owners apart")
    os.mkfifo(open_folder / "fifo")
    (open_folder / "fifo").chmod(0o666)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(open_folder / "later"))
        (open_folder / "later").chmod(0o777)
        listener.listen()
        paths = {
            "unix": [str(open_folder / "later")],
            "writable": [str(open_folder / "fifo")],
        }
        reader = os.open(open_folder / "fifo", os.O_RDONLY | os.O_NONBLOCK)
        result = fabric.host("h3_1").run(attack({"tcp": [], **paths}, "connections", "writes"))
        os.close(reader)
    assert result.output.splitlines() == ["2 attacks done"], result


def test_a_signal_to_all_processes_of_a_host_reaches_none_of_the_machine(fabric, victim):
    fabric.host("h4_1").run("kill -9 -1")
    assert victim.poll() is None
    assert fabric.host("h4_1").run("ping -c 1 -W 2 h1_1").ok


def test_what_a_host_uses_up_is_not_counted_for_root(fabric):
    """The kernel counts inotify instances for each user."""
    take = "[ctypes.CDLL(None).inotify_init1(0) for _ in range(5000)]; open('taken', 'w'); time.sleep(60)"
    program = fabric.host("h5_1").start(f"{PYTHON} -c {shlex.quote('import ctypes, time; ' + take)}")
    try:
        eventually(lambda: fabric.host("h5_1").run("rm taken").ok)
        instance = ctypes.CDLL(None).inotify_init1(0)
    finally:
        program.stop()
    assert instance >= 0
    os.close(instance)


@pytest.mark.parametrize(
    "command",
    [
        "ip address add 10.99.0.1/24 dev lo && ip address delete 10.99.0.1/24 dev lo",
        "tc qdisc show dev h1_1-eth0 | grep -q .",
        "ping -c 1 -W 2 h7_1",
        "timeout 2 tcpdump -c 1 -i lo & sleep 0.5; ping -c 1 127.0.0.1 && wait",
        "iperf3 -s -1 >/dev/null & sleep 0.3; iperf3 -c 127.0.0.1 -n 1M && wait",
        "mount -t tmpfs own /tmp && echo > /tmp/file && umount /tmp",
        "test $(hostname) = h1-1 && test $(id -u) = 0 && test $PWD = $HOME",
        "echo to the terminal 2>/dev/stderr >/dev/stdout",
        "chown 33:33 . && chown 0:0 . && setpriv --reuid=33 id -u | grep -qx 33",
        "test -d $POLARLAB_CALLER_DIR",
        "unshare --map-root-user --net ip link set lo up",
    ],
)
def test_the_root_of_a_host_is_root_at_home(fabric, command):
    result = fabric.host("h1_1").run(command)
    assert result.ok, result


def test_a_server_listens_on_a_low_port(fabric):
    server = fabric.host("h5_1").start(f"echo served > page; exec {PYTHON} -m http.server 80")
    fetch = f"{PYTHON} -c 'import urllib.request as u; print(u.urlopen(\"http://h5_1/page\").read())'"
    eventually(lambda: "served" in fabric.host("h1_1").run(fetch).output)
    server.stop()


def test_a_host_without_a_kept_folder_fills_no_disk_of_the_machine(fabric):
    """Its home is in its own memory, of which there are 128 MiB."""
    result = fabric.host("h2_1").run("head -c 200M /dev/zero > big; stat -c %s big; rm big")
    assert 0 < int(result.output.split()[-1]) < 140_000_000


def test_hosts_see_neither_files_nor_processes_of_one_another(fabric):
    fabric.host("h1_1").run("echo mine > /tmp/mine; echo mine > ~/mine")
    beside = fabric.host("h1_1").start("exec -a beside sleep 600")
    seen = fabric.host("h2_1").run("ls /tmp ~; ps ax")
    assert "mine" not in seen.output
    assert "beside" not in seen.output
    beside.stop()


def test_a_host_whose_first_process_is_killed_is_named_and_the_others_stay(fabric, told):
    live = fabric.session.fabric
    os.kill(live.network["h7_1"].pid, signal.SIGKILL)
    eventually(lambda: "the first process of h7_1" in live.ended_processes())
    eventually(lambda: [event.process for event in told if isinstance(event, ProcessEnded)])
    assert ["h7_1" in event.process for event in told if isinstance(event, ProcessEnded)] == [True]
    assert fabric.host("h6_1").run("ping -c 1 -W 2 h1_1").ok

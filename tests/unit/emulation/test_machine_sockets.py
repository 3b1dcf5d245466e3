"""Sockets of the machine as hosts see them: other users make them, with paths that mean to deceive."""

import contextlib
import errno
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from emulation.hosts.identity import host_root
from emulation.hosts.sockets import MAX_COVERED, socket_paths
from emulation.hosts.spaces import HostSpaces
from emulation.kernel.system_calls import detach, mount

ROW = b"ffff8881020a7c00: 00000002 00000000 00010000 0001 01 %5d"
HEAD = b"Num       RefCount Protocol Flags    Type St Inode Path\n"
OTHER_USER = 54321
COVERED = "character special file"  # /dev/null
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes hosts")


@pytest.mark.parametrize(
    ("rows", "paths"),
    [
        ([], set()),
        ([ROW % 7, ROW % 123456], set()),
        ([ROW % 7 + b" /run/a b", ROW % 8 + b" /run/a b", ROW % 9 + b" @abstract"], {"/run/a b"}),
        ([ROW % 7 + b" relative", ROW % 8 + b" /\xff\x0b \r"], {"/\udcff\x0b \r"}),
        ([ROW % 7 + b" x\n0: 2 0 ZZ 1 1 9 /a", b"\n\n \n0: /b", b""], {"/a", "/b"}),
    ],
)
def test_no_path_of_a_socket_disturbs_the_reading_of_the_others(rows, paths):
    assert socket_paths(HEAD + b"".join(row + b"\n" for row in rows)) == paths


@pytest.fixture
def bound(monkeypatch, request):
    """Binds a socket to a path, which everybody may use; the present folder is a new one that hosts see."""
    with contextlib.ExitStack() as opened:
        folder = tempfile.mkdtemp(dir=getattr(request, "param", "/var/lib"))
        opened.callback(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        monkeypatch.chdir(folder)

        def bind(path, user=0):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            one = opened.enter_context(socket.socket(socket.AF_UNIX))
            one.bind(os.fsencode(path))
            one.listen()
            os.chown(path, user, user)
            os.chmod(path, 0o777)

        yield bind


@pytest.fixture
def run(tmp_path):
    """Runs a command on a host that is made then, and returns what it prints."""
    with contextlib.ExitStack() as made:

        def run_on_host(*words):
            spaces = HostSpaces({"h1_1": "h1-1"}, tmp_path, {})
            made.callback(spaces.close)
            program = spaces.space("h1_1").start(words, stdout=subprocess.PIPE, text=True)
            return program.communicate(timeout=20)[0]

        yield run_on_host


@pytest.fixture
def ownerless():
    """A folder in a file system that cannot tell owners apart."""
    folder = tempfile.mkdtemp(dir="/var/lib")
    mount("ramfs", folder, options="mode=0755")
    yield Path(folder)
    detach(folder)
    os.rmdir(folder)


def kinds(run, folder):
    """Returns the kinds of the files in a folder, as a host sees them."""
    lines = run("sh", "-c", 'cd "$1" && stat -c %n:%F *', "sh", str(folder)).splitlines()
    return dict(line.split(":") for line in lines)


@pytest.fixture
def program(ownerless):
    """A program that anybody may run."""
    return shutil.copy("/usr/bin/expr", ownerless)


@needs_root
@pytest.mark.parametrize(
    "path",
    [
        "{folder}/with blank\udcff",
        "x\n0: 2 0 ZZ 1 1 9 /a",
        "x\n0: 2 0 00010000 1 1 9 {program}",
        "x\n0: 2 0 00010000 1 1 9 /gone",
    ],
)
def test_a_path_of_a_socket_is_no_other_files(bound, run, program, path):
    bound(path.format(folder=os.getcwd(), program=program))
    assert run(program, "2", "+", "3") == "5\n"


@needs_root
def test_a_link_in_place_of_a_socket_covers_no_program(bound, run, program):
    bound(f"{os.getcwd()}/socket")
    os.rename("socket", "moved")
    os.symlink(program, "socket")
    assert run(program, "2", "+", "3") == "5\n"


@needs_root
def test_links_that_lead_nowhere_keep_no_host_from_being_made(bound, run):
    """In place of a socket's folder: the kernel follows 40 links, Python some 1,000."""
    bound(f"{os.getcwd()}/0/socket")
    shutil.rmtree("0")
    for number in range(2000):
        os.symlink(f"{os.getcwd()}/{number + 1}", str(number))
    assert run("expr", "2", "+", "3") == "5\n"


@needs_root
@pytest.mark.parametrize("name", ["two\u2028line\u2028ends", "two\x0bvertical\x0btabs", "\udcff"])
def test_any_user_may_have_mounts_with_any_names(run, name):
    with tempfile.TemporaryDirectory() as folder:
        place = f"{folder}/{name}"
        os.mkdir(place)
        subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
        try:
            assert run("expr", "2", "+", "3") == "5\n"
        finally:
            subprocess.run(["umount", place], check=True)


@needs_root
def test_sockets_of_others_are_no_mounts_where_the_kernel_refuses_them(bound, run):
    """Else a user who binds 100,000 takes all mounts that the kernel has for a host."""
    kind = subprocess.check_output(["findmnt", "-no", "FSTYPE", "-T", "."], text=True).strip()
    if kind not in ("ext4", "xfs", "btrfs"):
        pytest.skip(f"{kind} does not tell owners apart")
    bound(f"{os.getcwd()}/socket", OTHER_USER)
    code = "import socket, sys; print(open('/proc/self/mountinfo').read().count(sys.argv[1]), "
    code += "socket.socket(socket.AF_UNIX).connect_ex(sys.argv[1]))"
    assert run("/usr/bin/python3", "-c", code, f"{os.getcwd()}/socket") == f"0 {errno.EACCES}\n"


@needs_root
@pytest.mark.parametrize("bound", ["/var/lib", "/tmp"], indirect=True)
def test_sockets_of_who_is_root_on_hosts_are_covered(bound, run, monkeypatch):
    monkeypatch.setenv("SUDO_UID", str(OTHER_USER))
    monkeypatch.setenv("SUDO_GID", str(OTHER_USER))
    assert host_root() == (OTHER_USER, OTHER_USER)
    os.symlink(".", "link")
    for path in ("one", "link/two", "gone"):
        bound(f"{os.getcwd()}/{path}", OTHER_USER)
    os.unlink("gone")
    seen = kinds(run, Path.cwd())
    assert (seen["one"], seen["two"]) == (COVERED, COVERED)


@needs_root
def test_a_user_with_many_sockets_keeps_none_of_roots_from_being_covered(ownerless, bound, run, capfd):
    names = [*map(str, range(MAX_COVERED + 40)), "root"]
    for name in names:
        bound(str(ownerless / name), 0 if name == "root" else OTHER_USER)
    seen = kinds(run, ownerless)
    assert seen["root"] == COVERED
    covered = list(seen.values()).count(COVERED)
    assert 0 < covered <= MAX_COVERED  # the machine may have such sockets, too
    assert "sockets" in capfd.readouterr().err

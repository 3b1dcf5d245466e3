"""Hosts apart from the machine, as commands launch them: their owner, their files, their end."""

import json
import os

from conftest import POLARLAB, completed, eventually, one_line, polarlab, start_polarlab, wait_for_line

from emulation.cleanup import marked_processes

UP = ("up", "polarfly", "--q", "2")


def test_the_caller_of_sudo_owns_what_programs_write(tmp_path):
    out, caller = tmp_path / "session", {"SUDO_UID": "12345", "SUDO_GID": "0"}
    line = "h1_1 cat /proc/self/uid_map /proc/self/gid_map > maps; echo > /tmp/lost"
    done = polarlab(
        *UP, "--exec", line, "--exec", "h2_1 true", "--out", str(out), env={**os.environ, **caller}
    )
    assert done.returncode == 0, done.stderr
    maps = out / "hosts" / "h1_1" / "maps"
    assert [entry.name for entry in (out / "hosts").iterdir()] == ["h1_1"]  # no other has files
    assert (maps.stat().st_uid, maps.stat().st_gid) == (12345, 65534)
    numbers = [line.split() for line in maps.read_text().splitlines()]
    assert numbers[0] == ["0", "12345", "1"]
    assert all(int(first) > 65534 for first in (numbers[1][1], numbers[3][1]))
    assert json.loads((out / "manifest.json").read_text())["host_root"] == "own"


def test_real_root_is_the_machines(tmp_path):
    (tmp_path / "here").write_text("of the caller")
    lines = ("h1_1 test $(hostname) = $(hostname)", "h1_1 readlink /proc/self/ns/user > user; cat here")
    words = [word for line in lines for word in ("--exec", line)]
    done = polarlab(*UP, "--host-root", "real", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "of the caller" in done.stdout
    assert (tmp_path / "user").read_text().strip() == os.readlink("/proc/self/ns/user")


def test_programs_of_a_run_leave_their_files(tmp_path):
    out = tmp_path / "run"
    done = polarlab("run", *UP[1:], "--exec", "h2_1 echo result > file", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert (out / "hosts" / "h2_1" / "file").read_text() == "result\n"


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


def test_nothing_is_left_of_hosts_after_a_crash(no_leftovers):
    process = start_polarlab(*UP, "--exec", "h1_1 sleep 600 & sleep 600")
    wait_for_line(process, "all switches hold")
    eventually(lambda: any("sleep 600" in one.command for one in marked_processes()))
    process.kill()
    process.communicate()
    eventually(lambda: not any("sleep" in one.command for one in marked_processes()))
    assert polarlab("clean").returncode == 0
    assert one_line(polarlab("clean").stderr + "\nnothing")

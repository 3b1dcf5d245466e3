"""Who is root on hosts, and whose their working folders become."""

import os
import signal
import stat
import time
from itertools import pairwise

import pytest
from support.fixtures.child_processes import children_that_run

from emulation.hosts.identity import FIRST_NUMBER, IDS, PAGE_NUMBER, Identity, host_root
from emulation.hosts.keeper import Description
from emulation.hosts.spaces import HostSpaces
from emulation.hosts.working_folder import clear_rights, make_working_folder
from topology.errors import MachineError

NOBODY_ELSE = FIRST_NUMBER
OWNER = Identity(12345, 12346)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")


@needs_root
@pytest.mark.parametrize(
    ("user", "group", "root"),
    [
        ("1000", "1001", (1000, 1001)),
        ("1000", "0", (1000, NOBODY_ELSE)),
        ("1000", "", (NOBODY_ELSE, NOBODY_ELSE)),
        ("0", "0", (NOBODY_ELSE, NOBODY_ELSE)),  # root called sudo
        ("", "1001", (NOBODY_ELSE, NOBODY_ELSE)),
        ("-1", "1001", (NOBODY_ELSE, NOBODY_ELSE)),
        (str(FIRST_NUMBER), "1001", (NOBODY_ELSE, NOBODY_ELSE)),  # another host's
        (str(PAGE_NUMBER), "1001", (NOBODY_ELSE, NOBODY_ELSE)),
    ],
)
def test_the_root_of_hosts_is_never_the_machines(monkeypatch, user, group, root):
    monkeypatch.setenv("SUDO_UID", user)
    monkeypatch.setenv("SUDO_GID", group)
    assert host_root() == root


def test_without_sudo_it_is_nobody_else(monkeypatch):
    monkeypatch.delenv("SUDO_UID", raising=False)
    assert host_root() == (NOBODY_ELSE, NOBODY_ELSE)


def test_all_other_numbers_of_2048_hosts_are_nobody_elses():
    owned = []
    for place in range(2048):
        for text in OWNER.maps(place):
            own, others = (list(map(int, line.split())) for line in text.splitlines())
            assert own in ([0, 12345, 1], [0, 12346, 1])
            assert (others[0], others[2]) == (1, IDS - 1)
        owned.append(range(others[1], others[1] + others[2]))
    assert all(before.stop <= after.start for before, after in pairwise(owned))
    assert owned[0].start > NOBODY_ELSE
    assert NOBODY_ELSE > 2_000_200_000  # of directory services
    assert owned[-1].stop <= 2**31
    assert OWNER.maps(2048) == OWNER.maps(0)


def test_a_description_comes_through_a_line_whole():
    one = Description({"h1_1": "h1-1"}, OWNER, "/a\nfolder", {"/etc/hosts": "/b"}, "/c", {"PATH": "/bin"})
    assert one.line().count("\n") == 1
    assert Description.parse(one.line()) == one


@needs_root
def test_a_working_folder_is_the_hosts_own_and_is_found_again(tmp_path):
    for _ in range(2):
        os.close(make_working_folder(tmp_path, ("hosts", "h1_1"), OWNER))
    status = (tmp_path / "hosts" / "h1_1").stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (*OWNER, 0o755)
    assert (tmp_path / "hosts").stat().st_uid == 0


@needs_root
def test_only_the_owner_of_results_gets_to_working_folders(tmp_path):
    (tmp_path / "hosts").mkdir(mode=0o755)
    os.close(make_working_folder(tmp_path, ("hosts", "h1_1"), OWNER))
    assert stat.S_IMODE((tmp_path / "hosts").stat().st_mode) == 0o700


@needs_root
def test_files_of_programs_lose_the_rights_of_their_owner(tmp_path):
    """In folders as programs leave them; files of others, and what links lead to, stay as they are."""
    os.close(make_working_folder(tmp_path, ("hosts", "h1_1"), OWNER))
    home, aside = tmp_path / "hosts" / "h1_1", tmp_path / "aside"
    deep = home.joinpath(*["deep"] * 200)
    deep.mkdir(parents=True)
    (home / "closed").mkdir()
    files = [home / "file", home / "closed" / "group", home / "closed" / "other"]
    numbers = (OWNER.user, OWNER.user, FIRST_NUMBER + 33)
    for path, number in [*zip(files, numbers, strict=True), (aside, OWNER.user), (home / "roots", 0)]:
        path.touch()
        os.chown(path, number, OWNER.group)
        path.chmod(0o6755)
    (home / "link").symlink_to(aside)
    os.setxattr(files[0], "security.capability", bytes.fromhex("0100000200040000000000000000000000000000"))
    for folder in (home / "closed", *(path for path in (deep, *deep.parents) if home in path.parents)):
        os.chown(folder, *OWNER)
    (home / "closed").chmod(0)
    (home / "full").mkdir(mode=0o2755)
    (home / "full" / "file").touch()
    for one in (home / "full", home / "full" / "file"):
        os.chown(one, *OWNER)
        one.chmod(0o2755)
    clear_rights(tmp_path, ("hosts", "h1_1"), OWNER, lambda: False)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (home, home / "full")] == [0o755, 0o2755]
    assert [stat.S_IMODE(path.stat().st_mode) for path in files] == [0o755] * 3
    assert os.listxattr(files[0]) == []
    assert [stat.S_IMODE(path.stat().st_mode) for path in (aside, home / "roots")] == [0o6755] * 2
    assert any(stat.S_IMODE(path.stat().st_mode) == 0o700 for path in deep.parents if home in path.parents)


@needs_root
def test_a_folder_that_is_not_cleared_to_its_end_is_its_owners_alone(tmp_path):
    os.close(make_working_folder(tmp_path, ("hosts", "h1_1"), OWNER))
    home = tmp_path / "hosts" / "h1_1"
    for name in ("1", "2", "3"):
        (home / name).touch()
        os.chown(home / name, *OWNER)
        (home / name).chmod(0o4755)
    answers = iter([False, False, True])
    clear_rights(tmp_path, ("hosts", "h1_1"), OWNER, lambda: next(answers))
    modes = sorted(stat.S_IMODE(path.stat().st_mode) for path in (home, *home.iterdir()))
    assert modes == [0o700, 0o755, 0o755, 0o4755]


@needs_root
@pytest.mark.parametrize("swapped", ["hosts", "hosts/h1_1"])
def test_no_link_leads_a_working_folder_elsewhere(tmp_path, swapped):
    results, elsewhere = tmp_path / "results", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (results / swapped).parent.mkdir(parents=True)
    (results / swapped).symlink_to(elsewhere)
    with pytest.raises(NotADirectoryError):
        make_working_folder(results, ("hosts", "h1_1"), OWNER)
    assert list(elsewhere.iterdir()) == []
    assert elsewhere.stat().st_uid == 0


@needs_root
def test_a_folder_of_somebody_else_does_not_change_hands(tmp_path):
    taken = tmp_path / "hosts" / "h1_1"
    taken.mkdir(parents=True)
    with pytest.raises(PermissionError):
        make_working_folder(tmp_path, ("hosts", "h1_1"), OWNER)
    assert taken.stat().st_uid == 0


@needs_root
@pytest.mark.parametrize(("hurried", "modes"), [(False, [0o755, 0o755]), (True, [0o700, 0o4755])])
def test_hosts_that_end_in_a_hurry_leave_closed_folders(tmp_path, hurried, modes):
    spaces = HostSpaces({"h1_1": "h1-1"}, tmp_path, {})
    results = tmp_path / "results"
    results.mkdir()
    host = spaces.space("h1_1")
    spaces.keep_in(results)
    assert host.start(["sh", "-c", "touch program; chmod 4755 program"]).wait(20) == 0
    spaces.close(lambda: hurried)
    home = results / "hosts" / "h1_1"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (home, home / "program")] == modes


@needs_root
def test_the_end_of_hosts_does_not_wait_for_a_parent_that_takes_no_notice(tmp_path):
    """A process has not ended while its parent does not know."""
    spaces = HostSpaces({"h1_1": "h1-1"}, tmp_path, {})
    program = spaces.space("h1_1").start(["sleep", "600"])
    begin_s = time.monotonic()
    spaces.close()
    took_s = time.monotonic() - begin_s
    assert program.wait(10) == -signal.SIGKILL
    spaces.close()
    assert took_s < 10


@needs_root
def test_hosts_whose_keeper_is_stopped_are_awaited_for_a_limited_time(tmp_path):
    spaces = HostSpaces({"h1_1": "h1-1"}, tmp_path, {}, timeout_s=0.5)
    [keeper] = children_that_run("emulation.hosts.keeper")
    keeper.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(MachineError, match="did not create h1_1"):
            spaces.space("h1_1")
    finally:
        keeper.send_signal(signal.SIGCONT)
        spaces.close()

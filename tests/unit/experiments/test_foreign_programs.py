"""Programs, files and folders that files of other users name are root's only once they are approved."""

import atexit
import grp
import json
import os
import pwd
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from support.builders import records
from support.fixtures.command_line import fails
from support.fixtures.terminal import Terminal

import polarlab
from experiments.codec import plain
from experiments.spec.experiment import Experiment
from experiments.spec.files.approval import approved
from experiments.spec.files.experiment_file import kept_content
from polarlab.api.requests import traffic_request
from polarlab.cli.main import main
from polarlab.cli.parser import parse
from topology.errors import UsageError

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs what others wrote")

NOBODY = pwd.getpwnam("nobody").pw_uid
POLARLAB = str(Path(sys.executable).with_name("polarlab"))
# Bash cannot read it: what is approved fails before a fabric is launched.
UNREADABLE = "h1_1 echo ("
PAST_APPROVAL = "command line of bash"


def experiment_file(folder, *lines, **options):
    """An experiment's file, with programs and other options."""
    if lines:
        options["exec"] = lines
    file = folder / "experiment.toml"
    file.write_text(Experiment("run", {"topology": "polarfly", "q": 2, **options}).to_toml())
    return file


@pytest.fixture(autouse=True)
def called_by_root(monkeypatch):
    """Neither user nor group called sudo."""
    monkeypatch.delenv("SUDO_UID", raising=False)
    monkeypatch.delenv("SUDO_GID", raising=False)


def by_owner(file, _monkeypatch):
    os.chown(file, NOBODY, NOBODY)


def by_mode(file, _monkeypatch):
    file.chmod(0o666)


def by_group(file, _monkeypatch):
    os.chown(file, 0, NOBODY)
    file.chmod(0o664)


def by_folder(file, _monkeypatch):
    os.chown(file.parent, NOBODY, NOBODY)


def by_folder_of_all(file, _monkeypatch):
    file.parent.chmod(0o777)


def by_link(file, _monkeypatch):
    """Another user's link to a file of root's that this user may read."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    folder.chmod(0o755)
    file.symlink_to(shutil.move(file, folder / "roots.toml"))
    os.lchown(file, NOBODY, NOBODY)


def by_target(file, _monkeypatch):
    folder = file.parent.parent / "theirs"
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    file.symlink_to(file.rename(folder / file.name))


@pytest.mark.parametrize(
    "taken", [by_owner, by_mode, by_group, by_folder, by_folder_of_all, by_link, by_target]
)
def test_a_file_that_others_could_have_changed_is_refused_unless_its_programs_are_approved(
    capsys, tmp_path, monkeypatch, taken
):
    (tmp_path / "own").mkdir()
    file = experiment_file(tmp_path / "own", UNREADABLE)
    assert PAST_APPROVAL in fails(capsys, ["run", str(file), "--json"], 2)
    taken(file, monkeypatch)
    assert "--run-programs" in fails(capsys, ["run", str(file)], 2)  # there is no terminal
    assert "--run-programs" in fails(capsys, ["run", str(file), "--json"], 2)
    assert PAST_APPROVAL in fails(capsys, ["run", str(file), "--run-programs"], 2)
    own = ["run", str(file), "--exec", "h2_1 echo ("]  # what the user gives is the user's
    assert PAST_APPROVAL in fails(capsys, own, 2)
    with pytest.raises(UsageError, match="run_programs"):
        polarlab.run(file)
    with pytest.raises(UsageError, match=PAST_APPROVAL):
        polarlab.run(file, run_programs=True)


DAEMON = pwd.getpwnam("daemon")  # has a group of its own, as people have


def lists(monkeypatch, *, members=(), primary=(), name="daemon"):
    """Gives the group of `daemon` other members, users whose primary group it is, and a name."""
    group, number = grp.struct_group((name, "x", DAEMON.pw_gid, [*members])), 40_000
    users = [pwd.struct_passwd((one, "x", number, DAEMON.pw_gid, "", "/", "/bin/sh")) for one in primary]
    monkeypatch.setattr(grp, "getgrall", lambda: [group])
    known = pwd.getpwall()
    monkeypatch.setattr(pwd, "getpwall", lambda: [*known, *users])


@pytest.mark.parametrize("place", ["file", "folder"])
@pytest.mark.parametrize(
    ("group", "own"),
    [
        ({}, True),
        ({"members": ["daemon", "root"]}, True),
        ({"members": ["mallory"]}, False),
        ({"primary": ["mallory"]}, False),
        ({"name": "staff"}, False),
        (None, False),
    ],
    ids=str,
)
def test_files_of_the_user_who_called_sudo_are_own_files_unless_others_share_the_group(
    capsys, tmp_path, monkeypatch, group, own, place
):
    file = experiment_file(tmp_path, UNREADABLE)
    shared = tmp_path if place == "folder" else file
    if group is None:  # the caller's group by sudo, but of many
        os.chown(shared, DAEMON.pw_uid, pwd.getpwnam("nobody").pw_gid)
    else:
        lists(monkeypatch, **group)
        os.chown(shared, DAEMON.pw_uid, DAEMON.pw_gid)
    shared.chmod(0o775)
    monkeypatch.setenv("SUDO_UID", str(DAEMON.pw_uid))
    monkeypatch.setenv("SUDO_GID", str(shared.stat().st_gid))
    assert (PAST_APPROVAL if own else "--run-programs") in fails(capsys, ["run", str(file)], 2)


def test_a_file_that_roots_group_may_write_is_of_others_if_root_is_not_alone_in_it(
    capsys, tmp_path, monkeypatch
):
    file = experiment_file(tmp_path, UNREADABLE)
    file.chmod(0o664)
    assert PAST_APPROVAL in fails(capsys, ["run", str(file)], 2)
    monkeypatch.setattr(grp, "getgrall", lambda: [grp.struct_group(("root", "x", 0, ["mallory"]))])
    assert "--run-programs" in fails(capsys, ["run", str(file)], 2)


def test_results_of_another_user_are_refused_as_well(capsys, tmp_path):
    kept = kept_content(parse(["run", "polarfly", "--q", "2", "--exec", UNREADABLE]).experiment)
    folder = tmp_path / "results"
    folder.mkdir()
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps(plain(records.run_manifest(experiment=kept))))
    assert PAST_APPROVAL in fails(capsys, ["run", "--again", str(folder)], 2)
    os.chown(manifest, NOBODY, NOBODY)
    refused = fails(capsys, ["run", "--again", str(folder)], 2)
    assert "nobody" in refused
    assert "--run-programs" in refused
    assert PAST_APPROVAL in fails(capsys, ["run", "--again", str(folder), "--run-programs"], 2)
    with pytest.raises(UsageError, match="run_programs"):
        polarlab.run(again=folder)


def test_files_and_folders_that_it_names_are_refused_as_well(capsys, tmp_path):
    for options in (
        {"pattern": "matrix:/etc/shadow"},
        {"faults": "/etc/shadow"},
        {"exec_file": "/etc/shadow"},
        {"out": "/etc/results"},
        {"host_root": "real"},
    ):
        file = experiment_file(tmp_path, **options)
        os.chown(file, NOBODY, NOBODY)
        assert "--run-programs" in fails(capsys, ["run", str(file)], 2)


def test_all_that_it_asks_for_is_named_beside_its_programs(capsys, tmp_path):
    file = experiment_file(tmp_path, "h1_1 true", out="/etc/results", faults="/etc/shadow")
    os.chown(file, NOBODY, NOBODY)
    refused = fails(capsys, ["run", str(file)], 2)
    assert all(named in refused for named in ("1 program", "/etc/results", "/etc/shadow"))


def test_what_the_other_engine_does_not_have_is_not_asked_for(tmp_path):
    file = tmp_path / "experiment.toml"
    file.write_text(Experiment("sweep", {"topology": "polarfly", "q": 2, "host_root": "real"}).to_toml())
    os.chown(file, NOBODY, NOBODY)
    assert main(["sweep", str(file), "--engine", "simulation", "--estimate"]) == 0


SECRET_MATRIX = "matrix:/etc/shadow"


@pytest.mark.parametrize(
    "options",
    [
        {"patterns": ["uniform", SECRET_MATRIX]},
        {"vary": ["pattern=uniform,matrix:/etc/shadow"]},
        {"vary": ["faults=/etc/shadow,/etc/gshadow"]},
        {"vary": ["matrix.file=/etc/shadow"]},
        {"engine": "simulation", "vary": ["cycles=100,200", "pattern=matrix:/etc/shadow"]},
    ],
    ids=str,
)
def test_files_that_a_sweep_goes_over_are_refused_as_well(capsys, tmp_path, options):
    file = tmp_path / "experiment.toml"
    file.write_text(Experiment("sweep", {"topology": "polarfly", "q": 2, **options}).to_toml())
    os.chown(file, NOBODY, NOBODY)
    told = fails(capsys, ["sweep", str(file)], 2)
    assert "/etc/shadow read" in told
    assert "--run-programs" in told
    with pytest.raises(UsageError, match="run_programs"):
        polarlab.sweep(file)


def test_a_pattern_of_a_sweep_is_not_the_users_in_other_commands(capsys, tmp_path):
    file = tmp_path / "experiment.toml"
    sweep = {"topology": "polarfly", "q": 2, "patterns": SECRET_MATRIX, "routings": "min", "loads": "0.5"}
    file.write_text(Experiment("sweep", sweep).to_toml())
    os.chown(file, NOBODY, NOBODY)
    assert "--run-programs" in fails(capsys, ["predict", str(file)], 2)
    assert main(["predict", str(file), "--pattern", "uniform"]) == 0  # the user's own


def test_nothing_is_read_before_the_question(capsys, tmp_path):
    file = experiment_file(tmp_path, pattern=SECRET_MATRIX)
    os.chown(file, NOBODY, NOBODY)
    assert "--run-programs" in fails(capsys, ["run", str(file), "--print-config"], 2)


def test_a_fabric_in_python_does_not_take_what_was_not_approved(tmp_path):
    file = experiment_file(tmp_path, host_root="real")
    os.chown(file, NOBODY, NOBODY)
    with pytest.raises(UsageError, match="run_programs"):
        polarlab.Fabric(file)


def test_a_list_that_becomes_readable_after_the_question_is_not_read(tmp_path):
    listed = tmp_path / "programs.txt"
    os.mkfifo(listed)
    os.chown(listed, NOBODY, NOBODY)
    asked = Experiment("run", {"topology": "polarfly", "q": 2, "exec-file": str(listed)})
    with pytest.raises(UsageError, match="regular file"):
        approved(asked, lambda _demands: True)


@pytest.mark.parametrize("command", ["topology", "verify", "predict", "up", "explain"])
def test_other_commands_read_nothing_that_it_names_either(capsys, tmp_path, command):
    secret = tmp_path / "secret"
    secret.write_text("root:secret\n")
    (tmp_path / "theirs").mkdir()
    file = tmp_path / "theirs" / "experiment.toml"
    file.write_text(f'version = 1\nkind = "run"\n[topology]\nname = "graph"\nfrom = "{secret}"\n')
    os.chown(file, NOBODY, NOBODY)
    words = ["h1_1", "h2_1"] if command == "explain" else []
    told = fails(capsys, [command, str(file), *words], 2)
    assert "--run-programs" in told
    assert "root:secret" not in told


def test_the_lines_that_were_shown_are_those_that_run(tmp_path):
    listed = tmp_path / "programs.txt"
    listed.write_text("# a comment\u2028h1_1 id\vh1_1 id\nh1_1 hostname\n")  # of one line, as editors show it
    os.chown(listed, NOBODY, NOBODY)
    asked = Experiment("run", {"topology": "polarfly", "q": 2, "exec-file": str(listed)})
    shown = []
    one = approved(asked, lambda demands: shown.append(demands) or True)
    listed.write_text("h1_1 touch /tmp/pwned\n")
    (demands,) = shown
    assert demands.programs == ("h1_1 hostname",)
    assert [program.line for program in one.resolve().programs.programs] == ["h1_1 hostname"]


def test_a_list_without_programs_is_refused_before_it_gets_any(tmp_path):
    listed = tmp_path / "programs.txt"
    listed.write_text("# none yet\n")
    os.chown(listed, NOBODY, NOBODY)
    asked = Experiment("run", {"topology": "polarfly", "q": 2, "exec-file": str(listed)})
    with pytest.raises(UsageError, match="got none"):
        approved(asked, lambda _demands: True)


def test_traffic_on_a_fabric_that_is_up_runs_no_list_of_others_unless_approved(tmp_path):
    listed = tmp_path / "programs.txt"
    listed.write_text("h1_1 hostname\n")
    fabric = Experiment("up", {"topology": "polarfly", "q": 2})
    options = {"exec_file": str(listed)}
    assert traffic_request(fabric, options).values["exec-file"] == str(listed)
    os.chown(listed, NOBODY, NOBODY)
    with pytest.raises(UsageError, match="run-programs"):
        traffic_request(fabric, options)
    assert traffic_request(fabric, {**options, "run_programs": True}).values["exec"] == ("h1_1 hostname",)


@pytest.mark.parametrize(
    ("answer", "told"), [("y", PAST_APPROVAL), ("n", "run-programs"), ("", "run-programs")]
)
def test_at_a_terminal_the_lines_are_shown_and_asked_for(tmp_path, answer, told):
    hidden = "h2_1 hostname" + " " * 5000 + "; id"
    odd = "h3_1 \u0435cho \u202e\u200b\u3164\u2028\n; id"
    file = experiment_file(tmp_path, "h1_1 echo \u001b[2J(", hidden, odd)
    os.chown(file, NOBODY, NOBODY)
    with Terminal([POLARLAB, "run", str(file)]) as terminal:
        terminal.expect(r"h1_1 echo \\x1b\[2J\(")
        terminal.expect(r"h2_1 hostname\[5000 blanks\]; id")
        terminal.expect(r"\[escaped\] 'h3_1 \\u0435cho \\u202e\\u200b\\u3164\\u2028\\n; id'")
        terminal.expect(r"run these 3 lines.*\[y/N\]")
        terminal.type(f"{answer}\n")
        terminal.expect(told)
        assert terminal.status() == 2


def test_more_than_a_user_reads_is_not_asked_for(tmp_path):
    file = experiment_file(tmp_path, *(f"h1_1 echo {number}" for number in range(1000)), UNREADABLE)
    os.chown(file, NOBODY, NOBODY)
    with Terminal([POLARLAB, "run", str(file)]) as terminal:
        terminal.expect("run-programs")
        assert terminal.status() == 2

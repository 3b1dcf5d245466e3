"""Releases: archives that do not depend on where they are made, notes, known holes, checksums."""

import hashlib
import io
import json
import re
import subprocess
import tarfile

import pytest
import release
from support.fixtures.documents import ROOT

CHANGES = "# Changelog\n\nIntroduction.\n\n## {}\n\n### Routing\n- One.\n\n## 0.1.0 - 2025-01-01\n- Older.\n"


def archive(path, names, *, time_s, user, mode):
    """Writes a .tar.gz archive with a folder, files and a link; the order of files is that of the names."""
    with tarfile.open(path, "w:gz") as packed:
        for name in names:
            member = tarfile.TarInfo(name)
            member.mtime, member.uid, member.uname, member.mode = time_s, user, f"user{user}", mode
            if name == "project":
                member.type = tarfile.DIRTYPE
            elif name == "project/link":
                member.type, member.linkname = tarfile.SYMTYPE, "one.py"
            else:
                member.size = len(name)
            packed.addfile(member, io.BytesIO(name.encode()))
    return path


def test_archives_of_the_same_files_are_equal_whoever_made_them_and_when(tmp_path):
    names = ["project", "project/one.py", "project/two.py", "project/link"]
    first = archive(tmp_path / "a.tar.gz", names, time_s=1e9 + 0.25, user=0, mode=0o644)
    second = archive(tmp_path / "b.tar.gz", names[::-1], time_s=1.5e9, user=1000, mode=0o600)
    for one in (first, second):
        release.make_reproducible(one, 1_700_000_000)
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as packed:
        assert packed.extractfile("project/one.py").read() == b"project/one.py"
        assert packed.getmember("project/link").linkname == "one.py"
        assert {member.mtime for member in packed.getmembers()} == {1_700_000_000}


def test_programs_stay_programs(tmp_path):
    made = archive(tmp_path / "a.tar.gz", ["project/tool.sh"], time_s=0, user=7, mode=0o700)
    release.make_reproducible(made, 0)
    with tarfile.open(made) as packed:
        assert packed.getmember("project/tool.sh").mode == 0o755


def test_the_notes_are_the_newest_section():
    notes = release.newest_section(CHANGES.format("0.2.0 - 2026-01-01"), "0.2.0", draft=False)
    assert notes == "### Routing\n- One.\n"


@pytest.mark.parametrize("heading", ["Unreleased", "0.2.1 - 2026-01-01"])
def test_a_release_needs_a_section_with_its_version(heading):
    with pytest.raises(release.ReleaseError, match=r"0\.2\.0"):
        release.newest_section(CHANGES.format(heading), "0.2.0", draft=False)
    assert release.newest_section(CHANGES.format(heading), "0.2.0", draft=True) == "### Routing\n- One.\n"


def test_holes_and_packages_without_an_answer_are_told_apart():
    packages = [
        {"name": "polarlab", "skip_reason": "not in the index"},
        {"name": "good", "version": "1", "vulns": []},
        {"name": "bad", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["3"]}]},
        {"name": "unknown", "skip_reason": "not found"},
    ]
    text = json.dumps({"dependencies": packages, "fixes": []})
    assert release.read_audit(text) == (["bad 2 (CVE-1)"], {"unknown": "not found"}, 3)
    assert release.read_audit("") == ([], {}, 0)


@pytest.fixture
def auditor(tmp_path):
    """Returns a function that makes a program which prints what pip-audit would print."""

    def make(*packages):
        program = tmp_path / "pip-audit"
        text = json.dumps({"dependencies": packages}) if packages else ""
        lines = f"echo first >&2; echo 'no route to host' >&2\ncat <<'END'\n{text}\nEND\n"
        program.write_text(f"#!/bin/sh\n{lines}")
        program.chmod(0o755)
        return program

    return make


@pytest.mark.parametrize(
    ("packages", "reason"),
    [((), "no route to host"), (({"name": "a", "skip_reason": "a is in no index"},), "a is in no index")],
)
def test_a_service_without_an_answer_ends_the_release_unless_that_is_accepted(
    auditor, capsys, packages, reason
):
    program = auditor(*packages)
    with pytest.raises(release.ReleaseError, match="--unaudited") as error:
        release.audit([program], "the lock", unaudited=False)
    assert reason in str(error.value)
    release.audit([program], "the lock", unaudited=True)
    assert "NOT AUDITED" in capsys.readouterr().err


def test_a_known_hole_ends_the_release_in_any_case(auditor):
    program = auditor({"name": "bad", "version": "2", "vulns": [{"id": "CVE-1"}]})
    with pytest.raises(release.ReleaseError, match="CVE-1"):
        release.audit([program], "the lock", unaudited=True)


def test_the_holes_that_a_release_accepts_are_of_packages_in_the_lock_file():
    locked = (ROOT / "vagrant" / "requirements.lock").read_text()
    for reason in release.ACCEPTED.values():
        assert re.search(rf"^{reason.split()[0].lower()}==", locked, re.MULTILINE), reason


def test_a_folder_without_git_is_named_in_one_line(tmp_path):
    with pytest.raises(release.ReleaseError, match="not a git repository"):
        release.output(["git", "-C", str(tmp_path), "status"])


def test_sha256sum_accepts_the_checksums(tmp_path):
    (tmp_path / "one.whl").write_bytes(b"one")
    (tmp_path / "notes.md").write_bytes(b"two")
    release.write_checksums(tmp_path)
    check = ["sha256sum", "--check", "--quiet", "SHA256SUMS"]
    assert subprocess.run(check, cwd=tmp_path, check=False).returncode == 0
    digest = hashlib.sha256(b"one").hexdigest()
    assert f"{digest}  one.whl\n" in (tmp_path / "SHA256SUMS").read_text()


def test_the_lines_that_a_release_tries_are_the_ones_of_the_readme():
    [line] = [line for line in release.LINES if "paper" in line]
    assert line in (ROOT / "README.md").read_text()

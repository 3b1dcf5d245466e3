"""The table of simulated points: damaged ones are refused, and a torn last row is dropped."""

import tempfile

import pytest

import polarlab
from experiments.papers.model import Scale
from experiments.papers.performance.curves import estimate_curves
from experiments.papers.performance.store import POINTS, PointStore
from experiments.results.run_directory import RunDirectory

HEADER = (
    b"digest,curve,pattern,seed,seconds,load,offered,accepted,accepted_ci95,latency_cycles,"
    b"latency_ci95_cycles,stable,deadlock\n"
)
ROW = b"%s,PF-MIN,tornado,1,0.7,0.0125,0.01248,0.012477,5.7e-05,14.44,0.01,True,False\n"
FIRST, SECOND = ROW % (b"a" * 16), ROW % (b"b" * 16)


def opened(folder, content):
    (folder / POINTS).write_bytes(content)
    return PointStore(RunDirectory(folder, resume=True))


def test_a_torn_last_row_is_dropped(tmp_path):
    store = opened(tmp_path, HEADER + FIRST + SECOND[:-9])
    assert store.get("a" * 16).curve == "PF-MIN"
    assert store.get("b" * 16) is None
    assert (tmp_path / POINTS).read_bytes() == HEADER + FIRST


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (HEADER + FIRST + b"garbage\n" + SECOND, 3),
        (HEADER + FIRST + b"\xff\xfe\n" + SECOND, 1),
        (HEADER + FIRST + SECOND.replace(b"0.7", b"soon"), 3),
        (HEADER + FIRST + SECOND.replace(b"\n", b",1,2\n"), 3),
        (HEADER + FIRST + SECOND.replace(b"0.01248", b"nan"), 3),
        (HEADER + FIRST + SECOND.replace(b"0.0125,", b"7,"), 3),
        (HEADER + FIRST + SECOND.replace(b"0.012477", b"-0.1"), 3),
        (HEADER + FIRST + SECOND.replace(b"14.44", b"-5"), 3),
        (HEADER + FIRST + SECOND.replace(b"0.7,0.0125", b"-1,0.0125"), 3),
    ],
)
def test_a_damaged_table_is_refused_and_kept(content, line, tmp_path):
    with pytest.raises(polarlab.ParameterError, match=rf"points.csv .* line {line} "):
        opened(tmp_path, content)
    assert (tmp_path / POINTS).read_bytes() == content


@pytest.mark.parametrize(
    "content",
    [
        b"my precious notes\n",
        b"my precious notes",
        HEADER.replace(b",", b";") + FIRST.replace(b",", b";"),
        FIRST + SECOND,
        bytes(range(256)) + b"\n",
        b"\xff\xfe\0bad",
    ],
)
def test_another_table_is_refused_and_kept(content, tmp_path):
    """Points were once appended to such a file as empty rows, and a file of one line was removed."""
    with pytest.raises(polarlab.ParameterError, match=r"points.csv .* line 1, "):
        opened(tmp_path, content)
    assert (tmp_path / POINTS).read_bytes() == content


def test_two_rows_of_one_simulation_must_agree(tmp_path):
    assert opened(tmp_path, HEADER + FIRST + FIRST.replace(b",0.7,", b",0.9,")).get("a" * 16).seconds == 0.7
    content = HEADER + FIRST + FIRST.replace(b"14.44", b"99.0")
    with pytest.raises(polarlab.ParameterError, match=r"two rows .* a{16} "):
        opened(tmp_path, content)
    assert (tmp_path / POINTS).read_bytes() == content


@pytest.mark.parametrize(
    "content", [b"", b"load,offered", HEADER, HEADER.replace(b"digest,curve", b"curve,digest")]
)
def test_a_table_without_rows_is_one(content, tmp_path):
    assert opened(tmp_path, content).get("a" * 16) is None


def test_an_estimate_makes_no_files_in_a_folder_of_another_user(nobodys, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(nobodys))  # TMPDIR of a user who calls sudo
    before = nobodys.stat().st_mtime_ns
    estimate_curves([], Scale(), nobodys / "none", None, 1)
    assert nobodys.stat().st_mtime_ns == before

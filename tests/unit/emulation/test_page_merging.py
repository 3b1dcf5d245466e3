"""Merging of equal memory pages: the machine's settings during a search and after it, and offered pages."""

import json
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import psutil
import pytest

from emulation import cleanup
from emulation.switches import page_merging
from emulation.switches.page_merging import SEARCH, PageMerging, begin_search, end_search, offered

FOUND = {"run": "0", "pages_to_scan": "100", "sleep_millisecs": "20", "use_zero_pages": "0"}


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Returns the settings of a kernel, in files as the kernel has them."""
    folder = tmp_path / "ksm"
    folder.mkdir()
    for name, value in FOUND.items():
        (folder / name).write_text(value)
    monkeypatch.setattr(page_merging, "KSM", folder)
    return lambda: {path.name: path.read_text() for path in folder.iterdir()}


def set_by_hand(name, value):
    """Sets a setting at once, as the kernel does: never is it empty."""
    new = page_merging.KSM.with_name("new")
    new.write_text(value)
    new.rename(page_merging.KSM / name)


def test_the_settings_are_as_found_after_a_search(kernel, tmp_path):
    note = tmp_path / "note"
    begin_search(note)
    assert kernel() == SEARCH
    end_search(note)
    assert kernel() == FOUND
    set_by_hand("run", "1")
    end_search(note)
    assert kernel()["run"] == "1"


def test_the_kernel_frees_its_notes_of_ended_programs_in_a_last_search(kernel, tmp_path):
    """Those of 993 switches took 260 MiB, and would stay until somebody else begins a search."""
    note = tmp_path / "note"
    page_merging.clean_up(note)
    assert kernel() == FOUND
    set_by_hand("full_scans", "7")
    begin_search(note)
    end_search(note)
    with ThreadPoolExecutor() as pool:
        cleaned_up = pool.submit(page_merging.clean_up, note)
        while kernel() != SEARCH | {"full_scans": "7"}:
            assert not cleaned_up.done()
            time.sleep(0.001)
        set_by_hand("full_scans", "10")
        cleaned_up.result()
    assert kernel() == FOUND | {"full_scans": "10"}
    assert not note.exists()


def test_a_search_of_the_machines_owner_goes_on_as_it_is(kernel, tmp_path):
    set_by_hand("run", "1")
    begin_search(tmp_path / "note")
    assert kernel() == {**FOUND, "run": "1"}
    end_search(tmp_path / "note")
    assert kernel() == {**FOUND, "run": "1"}


def test_the_search_of_a_fabric_ends_when_a_pass_finds_no_more_pages(kernel, tmp_path):
    set_by_hand("full_scans", "7")
    set_by_hand("pages_sharing", "0")
    merging = PageMerging(tmp_path / "note")
    with merging.of_programs():
        pass
    for passes, merged in ((8, 0), (9, 500), (10, 900), (11, 901)):
        time.sleep(0.1)
        assert kernel()["run"] == "1"
        set_by_hand("pages_sharing", str(merged))
        set_by_hand("full_scans", str(passes))
    merging.finish()
    assert {name: kernel()[name] for name in FOUND} == FOUND


def test_the_search_ends_with_its_fabric(kernel, tmp_path):
    merging = PageMerging(tmp_path / "note")
    with merging.of_programs():
        assert kernel() == FOUND
    assert kernel() == SEARCH
    merging.end()
    assert {name: kernel()[name] for name in FOUND} == FOUND


def test_a_search_begins_early_where_memory_is_short(kernel, tmp_path, monkeypatch):
    merging = PageMerging(tmp_path / "note")
    merging.make_room()
    assert kernel() == FOUND
    free = iter([10, 10, 10, 50])
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=next(free), total=100))
    merging.make_room()
    assert kernel() == SEARCH
    merging.end()
    assert kernel() == FOUND


def test_a_setting_that_the_owner_changes_meanwhile_stays(kernel, tmp_path):
    begin_search(tmp_path / "note")
    set_by_hand("sleep_millisecs", "50")
    end_search(tmp_path / "note")
    assert kernel() == {**FOUND, "sleep_millisecs": "50"}


def test_a_killed_fabrics_search_is_ended_by_the_next_clean_up(kernel, tmp_path, monkeypatch):
    monkeypatch.setattr(cleanup, "STATE_DIR", tmp_path)
    monkeypatch.setattr(cleanup, "LOCK_FILE", tmp_path / "lock")
    monkeypatch.setattr(cleanup, "RUN_DIR", tmp_path / "fabric")
    monkeypatch.setattr(cleanup, "MERGING_NOTE", tmp_path / "note")
    monkeypatch.setattr(cleanup, "MARK_VARIABLE", f"POLARLAB_UNIT_TEST_{os.getpid()}")
    monkeypatch.setattr(page_merging, "CLEAN_UP_TIMEOUT_S", 0.2)
    begin_search(tmp_path / "note")
    cleanup.clean()
    assert kernel() == FOUND


@pytest.mark.parametrize("content", ["", "{", json.dumps({"unknown": "1"})])
def test_a_damaged_note_changes_nothing(kernel, tmp_path, content):
    (tmp_path / "note").write_text(content)
    end_search(tmp_path / "note")
    assert kernel() == FOUND


def test_a_kernel_without_merging_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(page_merging, "KSM", tmp_path / "missing")
    merging = PageMerging(tmp_path / "note")
    with merging.of_programs():
        assert not (tmp_path / "note").exists()
    merging.finish()
    merging.end()


@pytest.mark.skipif(not page_merging.merging_available(), reason="this kernel merges no pages for us")
def test_programs_of_a_block_offer_their_pages_and_those_after_it_do_not():
    def offers():
        search = ["grep", "-qE", "^VmFlags:.* mg", "/proc/self/smaps"]
        return subprocess.run(search, check=False).returncode == 0

    assert not offers()
    with offered():
        assert offers()
        with offered():
            pass
        assert offers()
    assert not offers()

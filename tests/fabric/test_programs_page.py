"""docs/how-to/programs.md: every command is run as it stands, in order."""

import json

import pytest
from conftest import POLARLAB, completed
from support.fixtures.documents import ROOT, blocks, command_lines

# As printed, the page takes a minute; what it says is tested in test_program_runs and test_sessions_recorded.
pytestmark = [pytest.mark.usefixtures("no_leftovers"), pytest.mark.slow]
PAGE = blocks(ROOT / "docs" / "how-to" / "programs.md")
LINES = [line for block in PAGE if block.kind == "sh" for line in command_lines(block)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs-page")
    (programs,) = (block.text for block in PAGE if block.kind == "text")
    (folder / "programs.txt").write_text(programs)
    return folder


@pytest.mark.parametrize("line", LINES)
def test_every_command_of_the_page_succeeds(line, folder):
    command = line.replace("sudo ", "").replace(".venv/bin/polarlab", POLARLAB)
    done = completed(["bash", "-c", command], cwd=folder)
    assert done.returncode == 0, done.stderr


def test_the_page_leaves_the_results_that_it_names(folder):
    for name in ("own/programs/1-h5_1.out", "beside/report.html", "packets/h1_1.pcap", "session/links.csv"):
        assert (folder / "results" / name).stat().st_size > 0
    told = json.loads((folder / "results" / "own" / "summary.json").read_text())
    assert [program["status"] for program in told["programs"]] == [None, 0, 0]

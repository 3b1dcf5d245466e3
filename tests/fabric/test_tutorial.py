"""docs/tutorial/tutorial.md: every command is run as it stands, in order, and prints what the page shows."""

import json
import shutil

import pytest
from conftest import MAX_ATTEMPTS, POLARLAB, completed, measures_a_failover
from support.fixtures.documents import ROOT, blocks, command_lines

# As printed, the page takes two minutes; each of its commands runs shortened in other tests.
pytestmark = [pytest.mark.usefixtures("no_leftovers"), pytest.mark.slow]


def steps():
    """Yields every command line, and the text that the page shows as its output, or nothing."""
    page = blocks(ROOT / "docs" / "tutorial" / "tutorial.md")
    for block, following in zip(page, [*page[1:], None], strict=True):
        if block.kind != "sh":
            continue
        *others, last = command_lines(block)
        yield from ((line, "") for line in others)
        yield last, following.text if following and following.kind == "text" else ""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tutorial")


@pytest.mark.parametrize(("line", "shown"), list(steps()))
def test_every_command_of_the_tutorial_does_what_the_page_says(line, shown, folder, request):
    command = line.replace("sudo ", "").replace(".venv/bin/polarlab", POLARLAB)
    where = ROOT if line.startswith("make ") else folder
    for attempt in range(1, MAX_ATTEMPTS + 1):
        done = completed(["bash", "-o", "pipefail", "-c", command], cwd=where)
        if done.returncode != 1 or " demo failover " not in line or attempt == MAX_ATTEMPTS:
            break
        # It lost packets, perhaps as the machine was busy; what it wrote is in the way of another attempt.
        shutil.rmtree(folder / line.split("--out ")[1].split()[0])
    request.node.user_properties.append(("attempts", attempt))
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout
    assert "ttl=" not in done.stdout or " 0% packet loss" in done.stdout


def test_the_tutorial_leaves_the_results_that_it_names(folder):
    for name in ("first/report.html", "first/links.png", "sweep/report.html", "failover/failover.png"):
        assert (folder / "results" / name).stat().st_size > 0


@measures_a_failover
def test_the_tutorials_failover_tells_what_a_cut_cost(folder):
    out = folder / "results" / "failover"
    summary = json.loads((out / "summary.json").read_text())
    assert summary["failed"][0].startswith("link:s")
    assert summary["pairs_affected"] == 2 * 2 * 3  # a link of a quadric carries 2q pairs each way
    assert summary["repaired_by"] == "switches"
    assert 0 < summary["gap_ms"] < 1000
    assert summary["probe_interval_ms"] <= 2
    assert summary["controller_converged_ms"] > 0
    assert summary["restored"] is True
    assert summary["lost_at_restore"] == 0
    assert summary["phases"]["before"]["hops_max"] == 2
    assert {path.name for path in out.iterdir()} == {
        *("manifest.json", "summary.json", "probes.csv", "events.csv", "failover.png", "failover.svg")
    }


def test_nothing_is_lost_while_the_tutorials_controller_is_gone(folder):
    summary = json.loads((folder / "results" / "without-controller" / "summary.json").read_text())
    assert summary["failed"] == ["controller"]
    assert summary["faults"]["replanned"] == []
    assert summary["packets_lost"] == 0

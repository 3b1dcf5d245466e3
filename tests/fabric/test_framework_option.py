"""The option --framework: the framework that runs, what results say of it, and one that is missing."""

import json
import sys

import pytest
from conftest import polarlab
from support.fixtures.command_line import fails
from support.fixtures.documents import ROOT, blocks, command_lines, polarlab_words

from controller.openflow.frameworks import FRAMEWORKS
from emulation.cleanup import RUN_DIR
from experiments.codec import read_record
from experiments.results.manifest import RunManifest
from topology.errors import Status

pytestmark = pytest.mark.usefixtures("no_leftovers")

PAGE = blocks(ROOT / "docs" / "how-to" / "frameworks.md")
LINES = [line for block in PAGE if block.kind == "sh" for line in command_lines(block)]


@pytest.mark.slow
# Runs of the first are those of all other tests.
@pytest.mark.parametrize(
    "framework",
    [pytest.param(name, marks=pytest.mark.slow) if name == "os-ken" else name for name in FRAMEWORKS],
)
def test_the_command_line_chooses_and_the_results_say_which(framework, tmp_path):
    if not FRAMEWORKS[framework].installed:
        pytest.skip(f"{framework} is not installed")
    words = ("run", "polarfly", "--q", "2", "--duration", "0.5", "--warmup", "0", "--load", "0.1", "--json")
    done = polarlab(*words, "--framework", framework, "--out", str(tmp_path / "run"))
    assert done.returncode == Status.DONE, done.stderr
    versions = json.loads(done.stdout)["versions"]
    assert versions[framework] == FRAMEWORKS[framework].version()
    assert not versions.keys() & (FRAMEWORKS.keys() - {framework})
    manifest = read_record(tmp_path / "run" / "manifest.json", RunManifest)
    assert (manifest.framework, manifest.framework_asked) == (framework, framework)


@pytest.mark.skipif(not FRAMEWORKS["os-ken"].installed, reason="os-ken is not installed")
@pytest.mark.slow
@pytest.mark.parametrize("line", LINES)
def test_the_command_of_the_page_succeeds(line, tmp_path):
    done = polarlab(*polarlab_words(line), cwd=tmp_path)
    assert done.returncode == Status.DONE, done.stderr


def test_a_missing_framework_is_one_line_and_leaves_nothing(capsys, monkeypatch, tmp_path):
    missing = FRAMEWORKS["os-ken"]
    monkeypatch.setitem(sys.modules, missing.package, None)
    out = tmp_path / "run"
    line = fails(capsys, f"run polarfly --q 2 --framework os-ken --out {out}", Status.MACHINE)
    assert missing.remedy.strip("`") in line
    assert not out.exists()
    assert not RUN_DIR.exists() or not list(RUN_DIR.iterdir())

"""Pages of the documentation: every command is run as printed, those of the README in every test run.

The tutorial, the pages on own programs and on extending have tests of their own.
"""

import os
import re
import subprocess

import pytest
from conftest import PATIENCE, POLARLAB
from support.fixtures.documents import DOCUMENTS, NO_ROOT, ROOT, blocks

from controller.openflow.frameworks import FRAMEWORKS

pytestmark = [pytest.mark.usefixtures("no_leftovers")]

README = ROOT / "README.md"
OTHERS = [
    document
    for document in DOCUMENTS
    # Mininet's own command needs two terminals, and Open vSwitch's own service. Pages without
    # root are run by tests/unit/test_documents.py.
    if document.stem not in ("README", "tutorial", "programs", "extending", "mininet", *NO_ROOT)
    and any(block.kind == "sh" for block in blocks(document))
]
# Stand-ins for programs of a shell: `sudo` is root already, points of sweeps on fabrics are short, and a
# result that a busy machine spoiled (probes lost, not valid, no rate low enough) is no failure of its page.
STANDING_IN = f"""
sudo() {{ "$@"; }}
polarlab() {{
    case "$1 $*" in
        *"--engine simulation"*) {POLARLAB} "$@" ;;
        sweep*) {POLARLAB} "$@" --warmup 0.2 --duration 0.5 ;;
        demo*web* | watch*) timeout --preserve-status -s INT 25 {POLARLAB} "$@" ;;
        demo* | *--strict*) {POLARLAB} "$@" || [[ $? = [13] ]] ;;
        *) {POLARLAB} "$@" ;;
    esac
}}
"""
# Set-up and tests of the project, an installed package (tests/unit/test_installation.py), a machine that
# Vagrant makes (tests/vm has one of its own), and requests to a page that is up (tests/unit/web).
ELSEWHERE = ("make ", "/usr/bin/python3 ", "~/", "sudo ~/", "cd vagrant", "vagrant ", "eval ", "curl ")
TIMEOUT_S = 900 * PATIENCE


def script(block):
    """Returns a block of commands as a script that ends with the first one that fails."""
    lines = [line for line in block.text.splitlines() if not line.startswith(ELSEWHERE)]
    if not FRAMEWORKS["ryu"].installed:
        lines = [line for line in lines if "--framework ryu" not in line]
    # A page tells which of its commands find something amiss, as a circle of waiting packets.
    lines = [re.sub("# exit status 1.*", "|| [[ $? = 1 ]]", line) for line in lines]
    text = "\n".join(lines).replace(".venv/bin/polarlab", "polarlab")
    return f"set -eo pipefail\n{STANDING_IN}\n{text}\n"


def run_page(document, folder):
    """Runs the commands of a page in a folder, and returns what each block printed."""
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / ".venv").symlink_to(ROOT / ".venv")
    printed = []
    for block in blocks(document):
        if block.kind != "sh":
            continue
        done = subprocess.run(
            ["bash", "-c", script(block)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, f"{block.text}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        printed.append(done.stdout)
    return printed


def test_the_quick_start_of_the_readme_prints_what_it_shows(tmp_path):
    printed = "".join(run_page(README, tmp_path))
    for block in blocks(README):
        if block.kind == "text":
            # Numbers of measurements differ from run to run.
            for line in block.text.splitlines():
                assert line.split()[0] in ("...", *printed.split())
    assert (tmp_path / "results" / "tornado" / "report.html").stat().st_size > 0


@pytest.mark.slow
@pytest.mark.parametrize("document", OTHERS, ids=lambda path: path.name)
def test_every_command_of_a_page_succeeds(document, tmp_path):
    run_page(document, tmp_path)

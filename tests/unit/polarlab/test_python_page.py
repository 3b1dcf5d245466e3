"""docs/how-to/python.md, the part that needs no root; first_look.ipynb; outputs of both notebooks."""

import json
import re
from pathlib import Path

import pytest
from support.fixtures.documents import ROOT
from support.fixtures.notebooks import EXAMPLES, NOTEBOOKS, executed, texts
from support.fixtures.python_page import PAGE, python_blocks, run_block

import polarlab

_MAX_BYTES = 150_000  # of an output


def test_blocks_print_what_the_page_shows():
    names = {}
    for block, shown in python_blocks(root=False):
        printed = run_block(block, names)
        assert shown is None or printed == shown


def test_the_page_names_every_function():
    text = PAGE.read_text()
    for name in polarlab.__all__:
        if name[0].islower():
            assert f"`{name}`" in text or f"`{name}(" in text or f"polarlab.{name}(" in text, name


def test_the_first_look_runs(tmp_path):
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("pandas")
    (tmp_path / "examples").symlink_to(EXAMPLES)
    assert "993" in "\n".join(texts(executed(EXAMPLES / "first_look.ipynb", tmp_path)))


def cells(path):
    return json.loads(path.read_text())["cells"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_with_small_outputs_and_nothing_of_a_machine(path):
    shown = [cell["outputs"] for cell in cells(path) if cell["cell_type"] == "code"]
    assert sum(bool(outputs) for outputs in shown) >= 5
    for outputs in shown:
        assert len(json.dumps(outputs)) <= _MAX_BYTES
    assert not re.search(r'"output_type": "error"', path.read_text())
    text = re.sub(r'"image/png": "[^"]*"', "", path.read_text())
    assert not re.search(r"/(home|root|tmp|work|usr)/", text)
    assert str(Path.home()) not in text or str(Path.home()) == "/"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_of_a_notebook_lead_to_files(path):
    for cell in cells(path):
        if cell["cell_type"] == "markdown":
            for target in re.findall(r"\]\(([^)#:]+)\)", "".join(cell["source"])):
                assert (ROOT / "examples" / target).exists(), target

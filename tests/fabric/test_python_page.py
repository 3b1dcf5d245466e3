"""docs/how-to/python.md and min_against_ugal_pf.ipynb, as a user runs them who is root."""

import fnmatch

import pytest
from support.fixtures.notebooks import EXAMPLES, executed, texts
from support.fixtures.python_page import python_blocks, run_block

pytestmark = pytest.mark.usefixtures("no_leftovers")


# `test_python_fabrics` runs the page's verbs and experiments, and unit tests its other blocks.
@pytest.mark.slow
def test_every_block_of_the_page_runs_and_prints_what_it_shows(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    names = {}
    for block, shown in python_blocks(root=True):
        printed = run_block(block, names)
        assert shown is None or fnmatch.fnmatchcase(printed, shown.replace("[", "[[]"))


@pytest.mark.slow
def test_the_notebook_on_a_fabric_runs(tmp_path):
    for needed in ("nbclient", "ipykernel", "pandas"):
        pytest.importorskip(needed)
    text = "\n".join(texts(executed(EXAMPLES / "min_against_ugal_pf.ipynb", tmp_path)))
    for part in ("0% packet loss", "failed: ('link:", "ugal-pf, a link failed"):
        assert part in text

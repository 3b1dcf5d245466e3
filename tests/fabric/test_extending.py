"""docs/extending.md: what it says is applied to a copy of the project, and every command in it is run."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import completed
from support.fixtures.documents import PACKAGES, ROOT, blocks, command_lines, polarlab_words

# Unit tests show that the page's patches apply and its commands parse.
pytestmark = [pytest.mark.usefixtures("no_leftovers"), pytest.mark.slow]

PAGE = ROOT / "docs" / "extending.md"
COMMAND = "import sys; from polarlab.cli.main import main; sys.exit(main())"


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """A copy of the project with what the page adds."""
    copy = tmp_path_factory.mktemp("extended")
    for part in (*PACKAGES, "tests", "docs", "examples", "vagrant"):
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__", ".vagrant"))
    for file in ("setup.cfg", "pyproject.toml", "README.md", "Makefile"):
        shutil.copy(ROOT / file, copy)
    for block in blocks(PAGE):
        named = re.findall(r"`([\w/]+\.py)`:$", block.before)
        if block.kind == "python":
            [path] = named
            assert not (copy / path).exists()
            (copy / path).write_text(block.text)
        elif block.kind == "diff":
            patch = ["git", "apply", "--recount", "--verbose", "-"]
            subprocess.run(patch, input=block.text, text=True, cwd=copy, check=True)
    return copy


LINES = [line for block in blocks(PAGE) if block.kind == "sh" for line in command_lines(block)]


@pytest.mark.parametrize("line", LINES)
def test_every_command_of_the_page_does_what_it_should(line, extended):
    command = [sys.executable, "-c", COMMAND, *polarlab_words(line)]
    done = completed(command, cwd=extended, env={**os.environ, "PYTHONPATH": str(extended)})
    assert done.returncode == 0, done.stderr
    if "verify" in line:
        assert re.search(r"^ok +yes$", done.stdout, re.MULTILINE)
        assert re.search(r"^unprotected +0$", done.stdout, re.MULTILINE)


def test_what_the_page_adds_is_as_the_project_wants_it(extended):
    ruff = [sys.executable, "-m", "ruff"]
    for words in (["check"], ["format", "--check"]):
        subprocess.run([*ruff, *words, *PACKAGES], cwd=extended, check=True)


def test_the_projects_own_tests_hold_for_what_the_page_adds(extended):
    """Those that are made for every name in a registry, and those that list the names."""
    folders = [f"tests/unit/{name}" for name in ("routing", "polarlab", "traffic")]
    chosen = ["-k", "misroute or folded or exchange or broadcast or unknown"]
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *folders, *chosen]
    done = completed(words, cwd=extended, env={**os.environ, "PYTHONPATH": str(extended)})
    assert done.returncode == 0, done.stdout

"""docs/how-to/extending.md, applied to a copy of the project: its commands and all unit tests run there."""

import os
import re
import subprocess
import sys

import pytest
from conftest import completed
from support.builders.extended_copy import PAGE, make_extended_copy
from support.fixtures.documents import PACKAGES, blocks, command_lines, polarlab_words

pytestmark = [pytest.mark.usefixtures("no_leftovers"), pytest.mark.slow]

COMMAND = "import sys; from polarlab.cli.main import main; sys.exit(main())"
UNIT_TESTS_S = 3600


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    return make_extended_copy(tmp_path_factory.mktemp("extending"))


@pytest.fixture
def shell(extended):
    return {**os.environ, "PYTHONPATH": str(extended)}


LINES = [line for block in blocks(PAGE) if block.kind == "sh" for line in command_lines(block)]


@pytest.mark.parametrize("line", LINES)
def test_every_command_of_the_page_does_what_it_should(line, extended, shell):
    done = completed([sys.executable, "-c", COMMAND, *polarlab_words(line)], cwd=extended, env=shell)
    assert done.returncode == 0, done.stderr
    if "verify" in line:
        assert re.search(r"^ok +yes$", done.stdout, re.MULTILINE)
        assert re.search(r"^unprotected +0$", done.stdout, re.MULTILINE)


def test_what_the_page_adds_is_as_the_project_wants_it(extended):
    ruff = [sys.executable, "-m", "ruff"]
    for words in (["check"], ["format", "--check"]):
        subprocess.run([*ruff, *words, *PACKAGES], cwd=extended, check=True)


def test_all_unit_tests_hold_for_what_the_page_adds(extended, shell):
    words = ["-q", "-n", "2", "-m", "not slow", "-p", "no:cacheprovider", "tests/unit"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=extended,
        env=shell,
        capture_output=True,
        text=True,
        check=False,
        timeout=UNIT_TESTS_S,
    )
    assert done.returncode == 0, done.stdout

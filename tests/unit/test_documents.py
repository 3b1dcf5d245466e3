"""README and pages: their sizes, commands, outputs, files and links."""

import itertools
import json
import re
import subprocess
import sys

import pytest
from support.fixtures.documents import (
    DOCUMENTS,
    NO_ROOT,
    ROOT,
    WITHOUT_ROOT,
    blocks,
    command_lines,
    named_files,
    page_lines,
    polarlab_words,
)

from experiments.spec.captures import parse_captures
from polarlab.cli import main as entry
from polarlab.cli.parser import make_parser
from topology.errors import Status
from topology.registry import make_topology

README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
# It adds names of its own: tests/fabric/test_extending.py runs its commands on a copy of the project.
ADDITIONS = "extending"
LINES = {
    document: [line for line in page_lines(document) if line.startswith((".venv", "sudo .venv"))]
    for document in DOCUMENTS
    if document.stem != ADDITIONS
}
COMMANDS = [
    pytest.param(words, id=f"{document.name}: {' '.join(words)}")
    for document, lines in LINES.items()
    for words in map(polarlab_words, lines)
    if words
]


def test_the_readme_is_short():
    lines = README.read_text().splitlines()
    assert len(lines) <= 120
    assert max(map(len, lines)) <= 120
    assert README.stat().st_size <= 9000


def test_contributors_are_told_what_there_is():
    """The targets of make, and hooks that check what `make lint` checks."""
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`make ([\w-]+)", CONTRIBUTING.read_text()):
        assert re.search(rf"^{target}( [\w-]+)*:", makefile, re.MULTILINE), target
    [lint] = re.findall(r"^lint:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    hooks = re.findall(r"entry: (.*)", (ROOT / ".pre-commit-config.yaml").read_text())
    assert hooks
    for hook in hooks:
        assert f"@{hook}\n".replace(".venv/bin", "$(VENV)") in lint


def test_no_two_pages_write_the_same_folder():
    """Who follows one page after another would find a folder with other results, as of another sweep."""
    pages = {}
    for document in DOCUMENTS:
        for folder in re.findall(r"""(?:--out |out=")(results/[\w-]+)""", document.read_text()):
            pages.setdefault(folder, set()).add(document.name)
    assert {folder: names for folder, names in pages.items() if len(names) > 1} == {}


@pytest.mark.parametrize("words", COMMANDS)
def test_commands_on_pages_can_be_parsed(words):
    # Files of experiments and folders of results are made by the commands before: tests of fabrics run those.
    if not {"--help", "--again"} & {*words} and not any(word.endswith(".toml") for word in words):
        assert make_parser().parse_args(words).command


# What these do has quicker tests of its own, as simulated sweeps and failures, and examples of `--help` run.
LONG = {*NO_ROOT, "commands", "deadlocks", "routings", "topologies"}
PAGES = [
    pytest.param(document, marks=pytest.mark.slow if document.stem in LONG else (), id=document.name)
    for document in LINES
]


@pytest.mark.usefixtures("compiled_kernels")
@pytest.mark.parametrize("document", PAGES)
def test_commands_on_pages_without_root_succeed(document, tmp_path, monkeypatch, capsys):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    compared = [shown.values[0] for shown in SHOWN]  # another test runs them
    for line in LINES[document]:
        words = polarlab_words(line)
        if words and words not in compared and (words[0] in WITHOUT_ROOT or document.stem in NO_ROOT):
            expected = Status.NEGATIVE if "# exit status 1" in line else Status.DONE
            assert run(words) == expected, (words, capsys.readouterr().err)


def run(words):
    try:
        return entry.main(words)
    except SystemExit as end:  # --help
        return end.code or Status.DONE


def shown_outputs():
    """Yields commands without root whose output a page shows, and that output."""
    for document in DOCUMENTS:
        for block, following in itertools.pairwise(blocks(document)):
            words = polarlab_words(command_lines(block)[-1]) if block.kind == "sh" else None
            if words and words[0] in WITHOUT_ROOT and following.kind == "text":
                yield pytest.param(words, following.text, id=f"{document.name}: {' '.join(words)}")


SHOWN = list(shown_outputs())


@pytest.mark.parametrize(("words", "shown"), SHOWN)
def test_commands_print_the_output_that_pages_show(words, shown, monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)  # output is not wrapped that is not for a terminal
    assert entry.main(words) == Status.DONE
    # A line of points stands for lines that are left out.
    whole = re.escape(shown).replace(re.escape("...\n"), "(?:.*\n)+?")
    assert re.fullmatch(whole, capsys.readouterr().out)


@pytest.mark.parametrize(
    "line",
    [
        "topology polarfly --q 3",
        "verify polarfly --q 3 --deadlock --virtual-channels hop:2",
        "predict polarfly --q 3",
        "explain polarfly --q 3 s1 s2",
        "saturation polarfly --q 2 --precision 0.5 --cycles 100 --warmup 0",
        "doctor",
    ],
)
def test_every_key_of_the_json_of_commands_has_a_meaning(line, capsys):
    name, *_ = words = line.split()
    status = entry.main([*words, "--json"])
    assert status == Status.DONE or (name, status) == ("doctor", Status.MACHINE)  # without Mininet
    [section] = re.findall(rf"^## {name}\n(.*?)(?=^## )", page_text("json"), re.MULTILINE | re.DOTALL)
    keys = [key for cell in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for key in cell.split(", ")]
    assert sorted(keys) == sorted(f"`{key}`" for key in json.loads(capsys.readouterr().out))


def page_text(name):
    [page] = (ROOT / "docs").glob(f"*/{name}.md")
    return page.read_text()


PYTHON = [
    pytest.param(
        block.text,
        marks=pytest.mark.slow if document.stem in NO_ROOT else (),
        id=f"{document.name}-{number}",
    )
    for document in DOCUMENTS
    for number, block in enumerate(blocks(document))
    # The blocks of the guide to Python depend on one another: tests of the API run them.
    if block.kind == "python" and not block.new_file() and document.stem != "python"
]


@pytest.mark.parametrize("text", PYTHON)
def test_python_on_pages_runs(text, tmp_path):
    command = [sys.executable, "-c", text]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("document", [*DOCUMENTS, CONTRIBUTING], ids=lambda path: path.name)
def test_files_that_documents_name_exist(document):
    added = {block.new_file() for block in blocks(document)}
    for name in named_files(document) - added:
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("document", [*DOCUMENTS, CONTRIBUTING], ids=lambda path: path.name)
def test_links_to_headings_lead_to_one(document):
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", document.read_text()):
        text = (document.parent / target if target else document).read_text()
        headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        assert anchor in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_places_that_pages_capture_at_exist():
    topology = make_topology("polarfly", {"q": 5})
    for document in DOCUMENTS:
        for places in re.findall(r"`--pcap ([^`]+)`", document.read_text()):
            assert parse_captures([places], topology, 1)


def test_no_two_pages_say_the_same():
    """A paragraph of some length stands on one page only."""
    seen = {}
    for document in DOCUMENTS:
        for paragraph in re.split(r"\n\s*\n", document.read_text()):
            text = " ".join(paragraph.split())
            if len(text) > 200:
                assert seen.setdefault(text, document) == document

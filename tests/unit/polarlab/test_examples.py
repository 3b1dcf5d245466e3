"""Examples of `--help` and of the documents: all can be parsed, and those that need no root are run."""

import itertools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from documents import ROOT, blocks, command_lines, named_files, polarlab_words

from experiments.spec.captures import parse_captures
from polarlab.cli import main as entry
from polarlab.cli.options.fabric import read_fabric
from polarlab.cli.options.programs import read_program_options
from polarlab.cli.parser import commands, make_parser
from topology.exit_status import Status
from topology.faults import parse_elements
from topology.registry import make_topology

EXAMPLES = [(name, line) for name, command in commands().items() for line in command.EXAMPLES]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WITHOUT_ROOT = ("topology", "verify", "predict", "patterns", "explain", "rules")


def words_of(line):
    words = shlex.split(line.removeprefix("sudo "))
    assert words[0] == "polarlab"
    return words[1:]


def test_every_command_has_examples():
    assert {name for name, _ in EXAMPLES} == set(commands())


@pytest.mark.parametrize(("name", "line"), EXAMPLES)
def test_examples_can_be_parsed(name, line):
    assert make_parser().parse_args(words_of(line)).subcommand == name


@pytest.mark.parametrize("line", [line for name, line in EXAMPLES if name in WITHOUT_ROOT])
def test_examples_without_root_succeed(line, tmp_path, monkeypatch, capsys):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    assert entry.main(words_of(line)) == Status.DONE, capsys.readouterr().err


README_LINES = [
    line
    for block in blocks(ROOT / "README.md")
    if block.kind == "sh"
    for line in command_lines(block)
    if polarlab_words(line)
]


@pytest.mark.parametrize("line", README_LINES)
def test_commands_in_the_readme_can_be_parsed(line):
    assert make_parser().parse_args(polarlab_words(line)).command


@pytest.mark.parametrize("line", [line for line in README_LINES if polarlab_words(line)[0] in WITHOUT_ROOT])
def test_commands_in_the_readme_without_root_succeed(line, tmp_path, monkeypatch, capsys):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    assert entry.main(polarlab_words(line)) == Status.DONE, capsys.readouterr().err


def shown_outputs():
    """Yields the tutorial's commands without root whose output it shows, and that output."""
    page = blocks(ROOT / "docs" / "tutorial.md")
    for block, following in itertools.pairwise(page):
        line = command_lines(block)[-1] if block.kind == "sh" else ""
        if following.kind == "text" and polarlab_words(line)[0] in WITHOUT_ROOT:
            yield line, following.text


@pytest.mark.parametrize(("line", "shown"), list(shown_outputs()))
def test_commands_print_the_output_that_the_tutorial_shows(line, shown, capsys):
    assert entry.main(polarlab_words(line)) == Status.DONE
    assert shown in capsys.readouterr().out


def test_python_in_the_readme_runs():
    [block] = [block for block in blocks(ROOT / "README.md") if block.kind == "python"]
    done = subprocess.run([sys.executable, "-c", block.text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "block", [block for block in blocks(ROOT / "docs" / "extending.md") if block.kind == "diff"]
)
def test_patches_of_the_page_on_extending_apply(block):
    command = ["git", "apply", "--check", "--recount", "-"]
    done = subprocess.run(command, input=block.text, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_that_documents_name_exist(document):
    added = {block.new_file() for block in blocks(document)}
    for name in named_files(document) - added:
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_to_headings_lead_to_one(document):
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", document.read_text()):
        text = (document.parent / target if target else document).read_text()
        headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        assert anchor in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("line", [line for _, line in EXAMPLES if "--fail " in line])
def test_elements_that_examples_break_exist(line):
    arguments = make_parser().parse_args(words_of(line))
    topology = make_topology(arguments.name, {"q": arguments.q})
    assert parse_elements(arguments.fail, topology, 1)


def capturing_lines():
    """Yields the words of all commands with --pcap, of help texts and documents."""
    yield from (words_of(line) for _, line in EXAMPLES if "--pcap " in line)
    for document in DOCUMENTS:
        for block in blocks(document):
            for line in command_lines(block) if block.kind == "sh" else ():
                if "--pcap " in line and polarlab_words(line):
                    yield polarlab_words(line)


@pytest.mark.parametrize("words", list(capturing_lines()), ids=" ".join)
def test_places_and_nodes_that_examples_name_exist(words):
    arguments = make_parser().parse_args(words)
    fabric = read_fabric(arguments, "min")
    assert parse_captures(arguments.pcap, fabric.topology, fabric.hosts)
    if words[0] == "run":
        assert read_program_options(arguments, fabric)


def test_places_that_the_readme_names_exist():
    topology = make_topology("polarfly", {"q": 5})
    for places in re.findall(r"`--pcap ([^`]+)`", (ROOT / "README.md").read_text()):
        assert parse_captures([places], topology, 1)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("polarlab topo", "topology"),
        ("polarlab run --warm", "--warmup"),
        ("polarlab topology pol", "polarfly"),
        ("polarlab run polarfly --routing uga", "ugal-pf"),
        ("polarlab run polarfly --pattern tor", "tornado"),
        ("polarlab sweep polarfly --routings min,va", "min,valiant"),
        ("polarlab plot set", "setup.cfg"),
    ],
)
def test_completion_offers_matching_words(line, wanted):
    assert wanted in completions(line)


def test_completion_offers_no_files_where_names_belong():
    assert completions("polarlab verify polarfly --failures ") == ["none", "links", "switches"]
    assert completions("polarlab run polarfly --hosts ") == []


def completions(line):
    request = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "COMP_LINE": line, "COMP_POINT": str(len(line))}
    reading, writing = os.pipe()
    program = str(Path(sys.executable).with_name("polarlab"))
    # The shell listens on descriptor 8.
    script = f"exec 8>&{writing} 9>/dev/null; exec {program}"
    environment = {**os.environ, **request}
    subprocess.run(["bash", "-c", script], env=environment, pass_fds=[writing], cwd=ROOT, check=False)
    os.close(writing)
    with os.fdopen(reading) as answers:
        return [answer.strip() for answer in answers.read().split("\n") if answer.strip()]

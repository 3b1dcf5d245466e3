"""The examples that `--help` prints: all can be parsed, and those that need no root are run."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from documents import ROOT, blocks, command_lines, polarlab_words

from polarlab.cli import main as entry
from polarlab.cli.parser import commands, make_parser
from topology.exit_status import Status
from topology.faults import parse_elements
from topology.registry import make_topology

EXAMPLES = [(name, line) for name, command in commands().items() for line in command.EXAMPLES]
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
def test_examples_without_root_do_what_they_should(line, tmp_path, monkeypatch, capsys):
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
def test_commands_in_the_readme_without_root_do_what_they_should(line, tmp_path, monkeypatch, capsys):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    assert entry.main(polarlab_words(line)) == Status.DONE, capsys.readouterr().err


@pytest.mark.parametrize("line", [line for _, line in EXAMPLES if "--fail " in line])
def test_what_examples_break_is_there(line):
    arguments = make_parser().parse_args(words_of(line))
    topology = make_topology(arguments.name, {"q": arguments.q})
    assert parse_elements(arguments.fail, topology, 1)


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
def test_a_shell_is_told_what_could_come_next(line, wanted):
    assert wanted in completions(line)


def test_a_shell_is_told_of_no_files_where_names_are_asked_for():
    assert completions("polarlab verify polarfly --failures ") == ["none", "links", "switches"]
    assert completions("polarlab run polarfly --hosts ") == []


def completions(line):
    told = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "COMP_LINE": line, "COMP_POINT": str(len(line))}
    reading, writing = os.pipe()
    program = str(Path(sys.executable).with_name("polarlab"))
    # The shell listens on descriptor 8.
    script = f"exec 8>&{writing} 9>/dev/null; exec {program}"
    environment = {**os.environ, **told}
    subprocess.run(["bash", "-c", script], env=environment, pass_fds=[writing], cwd=ROOT, check=False)
    os.close(writing)
    with os.fdopen(reading) as answers:
        return [answer.strip() for answer in answers.read().split("\n") if answer.strip()]

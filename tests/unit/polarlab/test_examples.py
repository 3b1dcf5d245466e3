"""Examples of `--help`: all can be parsed, and those that need no root are run."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.fixtures.documents import DOCUMENTS, ROOT, WITHOUT_ROOT, blocks, command_lines, polarlab_words

from polarlab.cli import main as entry
from polarlab.cli.parser import commands, make_parser, parse
from topology.errors import Status
from topology.faults import parse_components

EXAMPLES = [(name, line) for name, command in commands().items() for line in command.EXAMPLES]


def words_of(line):
    words = shlex.split(line.removeprefix("sudo "))
    assert words[0] == "polarlab"
    return words[1:]


def test_every_command_has_examples():
    assert {name for name, _ in EXAMPLES} == set(commands())
    assert {*LONG} <= {line for _, line in EXAMPLES}


@pytest.mark.parametrize(("name", "line"), EXAMPLES)
def test_examples_can_be_parsed(name, line):
    assert make_parser().parse_args(words_of(line)).subcommand == name


# These take a second or more; other tests simulate applications and decisions, and print tables of families.
LONG = (
    "polarlab families --radix 16 --group low-diameter",
    "polarlab families --radix 32 --endpoints 16000",
    "polarlab simulate polarfly --q 3 --pattern allreduce:ring --message-bytes 64KiB",
    "polarlab simulate polarfly --q 3 --pattern sweep3d:3x4 --message-bytes 1KiB --compute-cycles 200",
    "polarlab simulate polarfly --q 3 --routing ugal --pattern perm2hop --decision product:candidates=2",
    "polarlab simulate polarfly --q 5 --hosts 2 --routing ugal-pf --pattern tornado --load 0.4",
    "polarlab simulate polarfly --q 5 --hosts 3 --load 0.5 --repeat 5",
    "polarlab verify polarfly --q 7 --routing ugal-pf --failures links",
)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, marks=pytest.mark.slow if line in LONG else ())
        for name, line in EXAMPLES
        if name in WITHOUT_ROOT
    ],
)
def test_examples_without_root_succeed(line, tmp_path, monkeypatch, capsys):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    assert entry.main(words_of(line)) == Status.DONE, capsys.readouterr().err


@pytest.mark.parametrize("line", [line for _, line in EXAMPLES if "--fail " in line])
def test_elements_that_examples_break_exist(line):
    experiment = parse(words_of(line)).experiment
    assert parse_components(experiment.values["fail"], experiment.topology, 1)


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
    chosen = parse(words).experiment.resolve()
    assert chosen.captures
    if words[0] == "run":
        assert chosen.programs


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


@pytest.mark.parametrize(
    ("line", "own", "foreign"),
    [
        ("polarlab topology polarfly --", "--q", "--supernode --degree --radix --from"),
        ("polarlab run polarstar --", "--supernode", "--from"),
        ("polarlab run examples/first.toml --", "--load", "--supernode --from"),
        ("polarlab demo failover slimfly --", "--q", "--supernode --from"),
        ("polarlab topology --", "--supernode", ""),
        ("polarlab topology polarf", "polarfly", ""),
        ("polarlab run nowhere.toml --", "--load", ""),
        ("polarlab topology 'half --", None, ""),
    ],
)
def test_completion_offers_the_options_of_the_family_alone(line, own, foreign):
    offered = completions(line)
    assert own is None or own in offered
    assert not {*foreign.split()} & {*offered}


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

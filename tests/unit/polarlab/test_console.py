"""Results on standard output: within the terminal's width, whole lines elsewhere, and one JSON object."""

import argparse
import json
import os
import re
import subprocess
import sys

import pytest
from support.builders import records, result_folders
from support.fixtures.documents import ROOT

from polarlab.cli.commands.run import print_summary
from polarlab.cli.console import print_result, print_rows, print_table, print_text
from polarlab.cli.main import main
from polarlab.process import print_line

READABLE, JSON = argparse.Namespace(json=False), argparse.Namespace(json=True)
RESULT = {
    "name": "polarfly",
    "accepted": 0.25,
    "fidelity": {"valid": True, "reasons": [], "cpu_idle": 0.5, "generator_lag_ms_p99": 0.125},
    "faults": {
        "replanned": [{"failed": "link:s1-s7", "time_s": 1.5}, {"failed": "switch:s4", "time_s": 2.5}]
    },
}
ROWS = [
    {"pattern": "adversarial[:SEED]", "load": 0.5, "definition": "all of a group to one other group"},
    {"pattern": "uniform", "load": 10, "definition": "every packet to any other endpoint"},
]


def test_values_that_are_wider_than_the_terminal_are_in_lines_of_their_own(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    print_result(READABLE, RESULT)
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 40 for line in lines)
    assert [line.split() for line in lines[:4]] == [
        ["name", "polarfly"],
        ["accepted", "0.25"],
        ["fidelity", "valid:", "yes"],
        ["reasons:", "none"],
    ]
    assert any(line.split() == ["failed:", "link:s1-s7"] for line in lines)


def test_values_are_whole_lines_where_there_is_no_terminal(monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    print_result(READABLE, RESULT)
    assert len(capsys.readouterr().out.splitlines()) == len(RESULT)


def test_json_is_one_object(capsys):
    print_result(JSON, RESULT)
    print_rows(JSON, "rows", ROWS, ("pattern",))
    first, second = capsys.readouterr().out.splitlines()
    assert json.loads(first) == RESULT
    assert json.loads(second) == {"rows": ROWS}


def test_a_table_is_whole_lines_where_there_is_no_terminal(monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    print_table(ROWS, ("pattern", "load", "definition"))
    assert capsys.readouterr().out.splitlines() == [
        "pattern             load  definition",
        "adversarial[:SEED]   0.5  all of a group to one other group",
        "uniform               10  every packet to any other endpoint",
    ]


def test_a_table_fits_into_a_narrow_terminal_and_names_stay_whole(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "44")
    print_table(ROWS, ("pattern", "definition"))
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 44 for line in lines)
    assert any(line.startswith("adversarial[:SEED] ") for line in lines)
    assert " ".join(" ".join(line[20:] for line in lines).split()).count("every packet to any") == 1


@pytest.mark.parametrize(
    ("words", "loaded"),
    [
        (["topology", "polarfly", "--q", "3", "--json"], False),
        (["topology", "polarfly", "--q", "3"], False),
        (["topology", "--list", "--json"], False),
        (["routings"], True),
    ],
)
def test_rich_is_loaded_for_tables_only(words, loaded):
    code = (
        "import sys; from polarlab.cli.main import main; status = main(sys.argv[1:]); "
        "sys.exit(status or 7 * ('rich' in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == (7 if loaded else 0), done.stderr


def test_headings_of_a_table_that_is_too_wide_break_at_underscores(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "70")
    names = (
        "message_bytes",
        "completion_ms_min",
        "algorithm_bandwidth_bps",
        "bus_bandwidth_bps",
        "iterations",
    )
    print_table([dict.fromkeys(names, "1234567")], names)
    heading = capsys.readouterr().out.split("1234567")[0]
    assert max(map(len, heading.splitlines())) <= 70
    words = {word for name in names for word in name.split("_")}
    assert {
        word.strip("_ ") for line in heading.splitlines() for word in re.split("[ _─]+", line)
    } <= words | {""}


@pytest.mark.parametrize("columns", [44, 60, 80])
def test_a_table_of_many_numbers_is_printed_in_parts_and_splits_no_number(monkeypatch, capsys, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    names = [f"{value}_{key}" for value in ("slowdown", "fct_ms") for key in ("mean", "p50", "p99")]
    numbers = [f"{1234.567 + 111 * place:g}" for place in range(len(names))]
    row = {"flow size": "100 KB-1 MB", **dict(zip(names, numbers, strict=True))}
    print_table([row, {**dict.fromkeys(names, "-"), "flow size": "< 10 KB"}], tuple(row))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= columns
    printed = [line.removeprefix("100 KB-1 MB").split() for line in lines if line.startswith("100 KB-1 MB")]
    assert [number for part in printed for number in part] == numbers


@pytest.mark.parametrize(
    "command", ["families --group hierarchical --radix 8", "topology --list", "routings"]
)
def test_lists_split_no_word_at_60_columns(monkeypatch, capsys, command):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert main(command.split()) == 0
    whole = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "60")
    assert main(command.split()) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    rules = [line for line in lines if set(line) == {"─"}]
    assert {word for line in lines if line not in rules for word in line.split()} <= {*whole.split()}
    if "families" in command:  # sizes first, in several tables
        headings = [line.split() for line in lines if line.startswith("name ")]
        assert headings[0] == ["name", "radix", "routers", "links", "hosts"]
        assert headings[-1][-1] == "parameters"


def test_faults_of_a_run_are_a_table_with_a_line_for_each(monkeypatch, capsys):
    """A record of four faults and two plans is no line that anybody reads."""
    monkeypatch.setenv("COLUMNS", "80")
    print_summary(READABLE, records.summary(faults=result_folders.FAULTS))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["2.500", "fail", "controller"] in lines
    assert ["1.040", "the", "controller's", "plan", "without", "link:s1-s10", "is", "in", "place"] in lines
    assert not any(words[:1] == ["faults"] for words in lines)


def test_a_reader_that_ends_early_does_not_change_a_commands_status():
    code = (
        "import argparse, sys, time\n"
        "from polarlab.cli.console import print_result, reader_may_end\n"
        "time.sleep(0.5)\n"
        "with reader_may_end():\n"
        "    print_result(argparse.Namespace(json=True), {'long': 'x' * 1000000})\n"
        "sys.exit(1)\n"
    )
    script = f'{sys.executable} -c "$CODE" | true; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, env={**os.environ, "CODE": code}, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, b"")


ODD = "a\x1b[31m\x07\x9b2J\u202e"


def test_control_characters_of_names_reach_no_terminal(tmp_path, capsys):
    print_result(READABLE, {ODD: ODD, "list": [ODD, "b c"]})
    print_table([{ODD: ODD, "n": 1}], (ODD, "n"))
    print_text(ODD)
    print_line(ODD)
    (tmp_path / ODD).mkdir()
    assert main(["report", str(tmp_path / ODD)]) == 2
    shown = "".join(capsys.readouterr())
    assert shown.count("a\\x1b[31m\\x07\\x9b2J\\u202e") == 8
    assert all(one.isprintable() or one == "\n" for one in shown)

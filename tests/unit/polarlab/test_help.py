"""`polarlab --help` and `--version`, on standard output; options' help."""

import re
from importlib.metadata import version

import pytest
from support.fixtures.command_line import flags_of, options_in_help

from experiments.spec.options import family_options
from polarlab.cli import main as entry
from polarlab.cli.parser import commands
from topology.registry import FAMILIES


def test_help_names_every_command(capsys):
    with pytest.raises(SystemExit) as ended:
        entry.main(["--help"])
    assert ended.value.code == 0
    out, err = capsys.readouterr()
    assert err == ""
    for name in commands():
        assert re.search(rf"^    {name}\b", out, re.MULTILINE)


def test_version_is_the_installed_one(capsys):
    with pytest.raises(SystemExit) as ended:
        entry.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"polarlab {version('polarlab')}\n"


PARAMETERS = {f"--{option.name}" for family in FAMILIES for option in family_options(family)}


@pytest.mark.parametrize("command", commands())
def test_help_of_an_option_is_a_noun_phrase_with_its_default(command):
    for written, text in options_in_help(command).items():
        assert text, written
        assert not text.startswith(("of ", "as ", "where ", "how ", "what ", "which ", "(")), written
        takes_a_value = flags_of(written)[-1] != written.split()[-1]
        if takes_a_value and command not in ("topology", "report", "compare"):  # whose files have none
            assert "default" in text or PARAMETERS.intersection(flags_of(written)), written


def help_of(words, capsys):
    with pytest.raises(SystemExit) as ended:
        entry.main(words.split())
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("words", ["run", "sweep", "simulate", "demo", "up", "run polarstar"])
def test_the_help_of_a_command_is_short_and_names_the_whole_one(words, capsys):
    short, whole = help_of(f"{words} --help", capsys), help_of(f"{words} --help-all", capsys)
    assert "--help-all" in short
    flags = [set(re.findall(r"^  (--[\w-]+)", text, re.MULTILINE)) for text in (short, whole)]
    assert (
        {"--hosts", "--routing", "--out"} - {"--routing" if words == "sweep" else ""} <= flags[0] < flags[1]
    )
    assert "--plugin" in flags[1] - flags[0]
    assert 2 * len(short) < len(whole)
    assert ("--degree" in flags[0]) == (words == "run polarstar")


def test_a_heading_without_options_is_not_in_the_short_help(capsys):
    short = help_of("run --help", capsys)
    assert "\ntraffic:\n" in short
    assert "TCP flows:" not in short


def test_a_command_with_few_options_has_one_help(capsys):
    assert "most common" not in help_of("schema --help-all", capsys)


def test_help_of_a_graphs_file_says_that_links_have_no_weights(capsys):
    with pytest.raises(SystemExit):
        entry.main(["topology", "graph", "--help"])
    assert "no weights" in " ".join(capsys.readouterr().out.split())


def test_help_of_watch_says_where_its_page_is(capsys):
    with pytest.raises(SystemExit):
        entry.main(["watch", "--help"])
    assert "(default 127.0.0.1:8642)" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("command", ["patterns", "routings"])
def test_commands_that_list_names_accept_that_word(command, capsys):
    assert entry.main([command]) == 0
    printed = capsys.readouterr().out
    assert entry.main([command, "--list"]) == 0
    assert capsys.readouterr().out == printed

"""`polarlab --help` and `--version`, on standard output; options' help."""

import argparse
import re
from importlib.metadata import version

import pytest

from polarlab.cli import main as entry
from polarlab.cli.parser import commands, make_parser
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


def command_parsers():
    """Returns the parsers of all commands, with their options."""
    [subparsers] = [one for one in make_parser()._actions if isinstance(one, argparse._SubParsersAction)]
    for parser in subparsers.choices.values():
        parser.complete_options()
    return subparsers.choices


OPTIONS = [
    (name, option)
    for name, parser in command_parsers().items()
    for option in parser._actions
    if option.option_strings and option.dest != "help"
]


@pytest.mark.parametrize(("command", "option"), OPTIONS, ids=lambda value: getattr(value, "dest", value))
def test_help_of_an_option_is_a_noun_phrase_with_its_default(command, option):
    assert option.help
    assert not option.help.startswith(("of ", "as ", "where ", "how ", "what ", "which ", "("))
    if option.nargs != 0 and command not in ("topology", "report", "compare"):  # whose files have none
        required = option.dest in {
            parameter.name for one in FAMILIES.values() for parameter in one.parameters
        }
        assert "default" in option.help or required


def test_help_of_a_graphs_file_says_that_links_have_no_weights(capsys):
    with pytest.raises(SystemExit):
        entry.main(["topology", "graph", "--help"])
    assert "no weights" in " ".join(capsys.readouterr().out.split())

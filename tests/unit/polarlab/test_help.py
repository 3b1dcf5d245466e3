"""`polarlab --help`: every command, on standard output."""

import pytest

from polarlab.cli import main as entry
from polarlab.cli.parser import commands


def test_help_names_every_command(capsys):
    with pytest.raises(SystemExit) as ended:
        entry.main(["--help"])
    assert ended.value.code == 0
    out, err = capsys.readouterr()
    assert err == ""
    for name in commands():
        assert f"    {name} " in out

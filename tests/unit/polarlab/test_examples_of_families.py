"""The example of each family: its figure and a short simulation; `verify` is in test_verify_command."""

import pytest
from support.fixtures.command_line import prints_json

from polarlab.cli import main as entry
from topology.errors import Status
from topology.registry import FAMILIES


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_every_example_has_a_figure_and_can_be_simulated(capsys, name, tmp_path):
    example, figure = FAMILIES[name].example, tmp_path / "graph.svg"
    assert entry.main(["topology", *example.split(), "--figure", str(figure)]) == Status.DONE
    routers = int(dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())["routers"])
    assert figure.read_text().count("<use ") >= routers
    words = "--load 0.1 --cycles 1000 --warmup 200 --virtual-channels 8"
    result = prints_json(capsys, f"simulate {example} {words} --out {tmp_path / 'results'} --json")
    assert result["accepted"] == pytest.approx(0.1, rel=0.25)

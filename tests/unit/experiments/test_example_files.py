"""Ready files of experiments in `examples/`: each resolves, and its complete form means the same."""

from pathlib import Path

import pytest
from documents import blocks

from experiments.spec.experiment import Experiment
from experiments.spec.options import FAILOVER, KINDS
from polarlab.cli.main import main
from topology.exit_status import Status

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.toml"))


def test_there_are_examples_of_each_kind_of_experiment_and_traffic():
    experiments = [Experiment.from_toml(path) for path in EXAMPLES]
    assert {experiment.kind for experiment in experiments} == set(KINDS)
    traffic = {experiment.traffic_kind for experiment in experiments}
    assert traffic >= {"packets", "collective", "flows", "programs"}


def test_the_file_that_the_page_shows_is_one(tmp_path):
    page = Path(__file__).parents[3] / "docs" / "experiments.md"
    [shown] = [block.text for block in blocks(page) if block.kind == "toml"]
    (tmp_path / "shown.toml").write_text(shown)
    assert Experiment.from_toml(tmp_path / "shown.toml").resolve().traffic.load == 0.2


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_resolves_and_its_complete_form_is_read_back(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert path.read_text().startswith("# ")
    experiment = Experiment.from_toml(path)
    assert experiment.resolve().fabric.topology.routers > 1
    command = ["demo", "failover"] if experiment.kind == FAILOVER else [experiment.kind]
    assert main([*command, str(path), "--print-config"]) == Status.DONE
    written = capsys.readouterr().out
    copy = tmp_path / "copy.toml"
    copy.write_text(written)
    assert Experiment.from_toml(copy) == experiment.complete
    assert main([*command, str(copy), "--print-config"]) == Status.DONE
    assert capsys.readouterr().out == written

"""Sweeps of real packets, as far as they come without a machine."""

import pytest

from experiments.events.base import ignore
from experiments.sweep import run_sweep
from polarlab.cli.parser import parse
from topology.errors import UsageError


@pytest.mark.parametrize("routings", ["min,compact-valiant", "compact-valiant,min"])
def test_a_routing_that_the_graph_lacks_is_refused_before_the_fabric_comes_up(tmp_path, routings):
    words = f"sweep torus --shape 3x3 --routings {routings} --patterns uniform --loads 0.1"
    chosen = parse(words.split()).experiment.resolve()
    with pytest.raises(UsageError, match="compact-valiant"):
        run_sweep(chosen.points, chosen.sweep, tmp_path / "swept", ignore)
    assert not (tmp_path / "swept").exists()

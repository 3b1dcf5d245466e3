"""Drawings of fabrics: links that do not cover one another, and the files."""

import numpy as np
import pytest
from support.builders.leaf_spine import LeafSpine

from experiments.figures.fabric import draw_topology, link_lines
from topology.errors import UsageError
from topology.families.low_diameter.polarfly import PolarFly
from topology.families.low_diameter.polarstar import PolarStar
from topology.families.low_diameter.slimfly import SlimFly
from topology.shortest_paths import SearchedTopology, adjacency_from_links

RING = SearchedTopology(adjacency_from_links(600, np.array([(r, (r + 1) % 600) for r in range(600)])))
ALL = [PolarFly(4), PolarFly(7), PolarStar(2, "iq", 3), SlimFly(4), LeafSpine(), RING]
NAMES = ["ER_4", "ER_7", "PolarStar 56", "Slim Fly 32", "leaf-spine", "ring of 600"]


def test_links_within_a_row_and_parallel_links_do_not_cover_one_another():
    graph = PolarFly(3)
    layout = graph.layout()
    for link, line in zip(graph.link_list, link_lines(graph, layout), strict=True):
        same_row = layout.positions[link.a, 1] == layout.positions[link.b, 1]
        assert (len(line) > 2) == same_row
        assert line[0] == pytest.approx(layout.positions[link.a])
        assert line[-1] == pytest.approx(layout.positions[link.b])
    double = SearchedTopology(adjacency_from_links(3, np.array([[0, 1], [0, 1], [1, 2]])))
    first, second, _ = link_lines(double, double.layout())
    assert len(first) != len(second)


@pytest.mark.parametrize("topology", ALL, ids=NAMES)
@pytest.mark.parametrize("format_", ["png", "svg"])
def test_fabrics_are_drawn(tmp_path, topology, format_):
    path = tmp_path / f"fabric.{format_}"
    draw_topology(topology, "a fabric", path)
    head = path.read_bytes()[:400]
    assert head.startswith(b"\x89PNG") if format_ == "png" else b"<svg" in head


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("there.png", "there.png"),
        ("no/fabric.png", "no/fabric.png|/no\\b"),
        ("fabric.gif", ".svg or .pdf"),
    ],
)
def test_wrong_files_are_told_and_nothing_is_overwritten(tmp_path, name, named):
    (tmp_path / "there.png").write_text("precious")
    with pytest.raises(UsageError, match=named):
        draw_topology(LeafSpine(), "a fabric", tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["there.png"]
    assert (tmp_path / "there.png").read_text() == "precious"

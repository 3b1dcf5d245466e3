"""Costs of Slim Fly and other networks, and files of prices."""

import pytest

from experiments.papers.model import Scale
from experiments.papers.prices import paper_prices, prices_digest, read_prices
from experiments.papers.registry import ITEMS
from experiments.papers.slimfly.cost_readings import Reading, all_readings
from experiments.papers.slimfly.networks import FAMILIES
from topology.costs.cost import network_cost
from topology.costs.prices import PRICES
from topology.errors import ParameterError


def text_of(**changed):
    prices = {one.name: getattr(paper_prices(), one.key) for one in PRICES} | changed
    return "\n".join(f"{key} = {value!r}" for key, value in prices.items())


def test_a_file_of_the_paper_s_prices_is_the_paper_s_prices(tmp_path):
    file = tmp_path / "prices.toml"
    file.write_text(text_of())
    assert read_prices(file) == paper_prices()
    file.write_text(text_of(rate=100))
    assert prices_digest(read_prices(file)) != prices_digest(paper_prices())


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"rate = ", "must be TOML"),
        (b"\xff", "must be UTF-8 text"),
        (b"rate = 1", "must have electric-per-m, "),
        (text_of(rates=1).encode(), "got 'rates'; did you mean 'rate'"),
        (text_of(overhead=-2).encode(), "overhead must be 0 to 1000000 m, got -2"),
        (None, "cannot be read"),
    ],
)
def test_wrong_files_of_prices_are_refused_by_their_names(tmp_path, content, text):
    file = tmp_path / "prices.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ParameterError, match=text) as raised:
        read_prices(file)
    assert str(raised.value).startswith(str(file))
    assert "\n" not in str(raised.value)


def test_slim_fly_s_cables_are_those_of_its_racks():
    """q = 19: 19 racks, every two joined by 38 of the 10,469 links."""
    rows = ITEMS["slimfly"]["table4"].compute(Scale()).rows
    [row] = [row for row in rows if row["chosen"] == "itself"]
    assert (row["racks"], row["bundles"], row["optic_cables"]) == (19, 171, 6498)
    assert row["electric_cables"] == 10_469 - 6498
    assert row["ports"] == 44
    parts = ("routers_cost", "endpoint_cables_cost", "electric_cost", "optic_cost")
    assert sum(row[part] for part in parts) == pytest.approx(row["cost_per_endpoint"], abs=0.03)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_first_reading_is_the_model_itself(family):
    one = FAMILIES[family][0]
    cost = network_cost(one.network.graph(), one.hosts, paper_prices())
    assert Reading().per_endpoint(family, cost, paper_prices()) == pytest.approx(cost.per_endpoint)
    assert all_readings()[0] == Reading()
    assert len(set(all_readings())) == 72


def test_readings_change_the_costs_that_they_are_about():
    """A tree of 64 endpoints has as many links between each two levels."""
    [tree] = [one for one in FAMILIES["FT-3"] if one.endpoints == 64]
    prices = paper_prices()
    cost = network_cost(tree.network.graph(), tree.hosts, prices)
    default = cost.per_endpoint

    def change(**choices):
        return Reading(**choices).per_endpoint("FT-3", cost, prices) - default

    metre = prices.electric(1)
    assert change(endpoint_cables="no") == pytest.approx(-metre)
    assert change(endpoint_cables="optic") == pytest.approx(prices.optic(1) - metre)
    assert change(tree_optic=True) == pytest.approx(prices.optic(cost.optic_metres) - metre)
    assert change(tree_folded=True) == pytest.approx(-cost.routers_cost / 6 / 64)
    assert change(rack=3) == pytest.approx(2 * (cost.optic_metres - 2) * 40 * 0.0919)
    assert change(ports_left_out=1) == pytest.approx(0)


def test_table_4_by_its_default_is_the_first_of_the_readings():
    table, readings = (ITEMS["slimfly"][name].compute(Scale()) for name in ("table4", "cost-readings"))
    first = readings.rows[0]
    for key in set(first) & set(table.values):
        assert first[key] == pytest.approx(table.values[key], abs=0.001)
    assert {"SF cost", "DF cost most", "under FBF-3"} <= set(first) & set(table.values)

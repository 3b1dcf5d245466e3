"""Costs of Slim Fly and other networks, and files of prices."""

import pytest

from experiments.papers.model import Effort
from experiments.papers.prices import paper_prices, prices_digest, read_prices
from experiments.papers.registry import ITEMS
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
        (b"\xff", "must be a text in UTF-8"),
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
    rows = ITEMS["slimfly"]["table4"].compute(Effort()).rows
    [row] = [row for row in rows if row["chosen"] == "itself"]
    assert (row["racks"], row["bundles"], row["optic_cables"]) == (19, 171, 6498)
    assert row["electric_cables"] == 10_469 - 6498
    assert row["ports"] == 44
    parts = ("routers_cost", "endpoint_cables_cost", "electric_cost", "optic_cost")
    assert sum(row[part] for part in parts) == pytest.approx(row["cost_per_endpoint"], abs=0.03)

"""The page of keys and columns: complete, and as the records say today."""

import re

import pytest
from support.fixtures.documents import ROOT

from experiments.report.keys import descriptions, keys_page, table_columns, undescribed
from experiments.results.model import LinkSummary, Summary


def test_the_page_is_up_to_date():
    page = (ROOT / "docs" / "reference" / "keys.md").read_text()
    assert page == keys_page(), "docs/reference/keys.md must be made anew: run `make keys`"


def test_every_key_and_column_has_a_description():
    assert undescribed() == []
    for file, (_, columns) in table_columns().items():
        assert columns, file
        assert all(columns.values()), file


def test_every_table_that_is_written_is_on_the_page():
    # Tables of the papers' items are on the pages about these.
    papers = ROOT / "experiments" / "papers"
    modules = (ROOT / "experiments").rglob("*.py")
    source = "".join(path.read_text() for path in modules if not path.is_relative_to(papers))
    written = set(re.findall(r'^[A-Z_]+ = "(\w+\.csv)"', source, re.M))
    assert written == set(table_columns())


def test_a_field_has_the_description_of_its_docstring_or_of_its_base():
    assert descriptions(LinkSummary)["jain"].startswith(
        "Jain's fairness index of the loads x of the n directed"
    )
    assert descriptions(Summary)["link_rate_bps"] == "rate of every port in bit/s."


@pytest.mark.parametrize(
    "key",
    [
        *("loss", "accepted", "offered", "links.jain", "links.load_max", "hops_as_distances", "gap_ms"),
        *("fidelity.link_rate_error", "packets.refused_by_host_queue", "controller_converged_ms"),
        *("dropped_packets", "collective.sizes[].bus_bandwidth_bps", "routings.*.occupancy"),
    ],
)
def test_keys_that_users_ask_for_are_there(key):
    assert f"\n| `{key}` | " in keys_page()

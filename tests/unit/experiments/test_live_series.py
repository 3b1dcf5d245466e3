"""Results of runs that were killed: what had been measured, and what is said of it."""

import pytest
from support.builders.records import run_manifest, write

from controller.occupancy.queues import QueueState
from experiments.live_series import LiveLinkSeries
from experiments.results.link_loads import directed_links
from experiments.results.open import open_results
from experiments.results.run_directory import MANIFEST
from experiments.results.tables import LINK_COLUMNS, read_csv
from topology.errors import ParameterError
from topology.families.low_diameter.polarfly import PolarFly


def test_links_are_on_the_disk_while_they_are_measured(tmp_path):
    links = directed_links(PolarFly(2))
    series = LiveLinkSeries(tmp_path / "run", links)
    for second, sent in ((10.0, 0), (10.3, 300), (11.2, 1200), (12.3, 2300)):
        series.note(1, second, {port: QueueState(port, 0, sent, 0) for port in (1, 2, 3, 4)})
    table = read_csv(tmp_path / "run" / "links.csv", LINK_COLUMNS)  # nobody has closed it
    assert [sent for sent, port in zip(table["tx_bytes"], table["port"], strict=True) if port == "1"] == [
        *("1200", "1100")
    ]
    assert set(table["link"]) == {link.name for link in links if link.source == 0}
    series.close()


def test_a_run_that_was_killed_is_told_with_what_is_there(tmp_path):
    write(tmp_path, MANIFEST, run_manifest())
    (tmp_path / "links.csv").write_text("")
    with pytest.raises(ParameterError, match=r"incomplete run: .*links\.csv"):
        open_results(tmp_path)

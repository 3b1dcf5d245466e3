"""TCP flows as users run them: completed, counted on the links, replayed, and given up."""

import csv
import json

import pytest
from conftest import one_line, polarlab, summary_of_run

from polarlab import plot

RUN = ["run", "polarfly", "--q", "2", "--link-rate", "5Mbit", "--tcp", "cubic", "--json"]


def table(path):
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.mark.tried_again
def test_flows_are_completed_and_their_bytes_are_those_of_the_links(tmp_path, no_leftovers):
    out = tmp_path / "run"
    fabric = {"q": 2, "link_rate": "5Mbit", "tcp": "cubic", "flow_sizes": "web-search"}
    traffic = {"flow_size_limit": 200_000, "load": 0.3, "warmup": 0, "duration": 2, "drain": 6}
    told = summary_of_run(out, "polarfly", **fabric, **traffic)
    flows = told["flows"]
    assert flows["started"] == flows["completed"] > 10
    assert flows["tcp"] == "cubic"
    assert 0.9 < flows["slowdown"]["mean"] < 20
    assert abs(flows["bytes"]["links_error"]) < 0.01
    assert told["hops_as_distances"]
    rows = table(out / "flows.csv")
    assert len(rows) == flows["started"]
    assert sum(int(row["bytes"]) for row in rows) == flows["bytes"]["payload"]
    assert "slowdown" in plot(out)


@pytest.mark.slow
@pytest.mark.tried_again
def test_a_lone_flow_takes_its_ideal_time_and_one_that_is_too_long_is_kept_as_unfinished(
    tmp_path, no_leftovers
):
    """The second flow would take 16 s."""
    file, out = tmp_path / "flows.csv", tmp_path / "run"
    file.write_text("time_s,source,destination,bytes\n0.1,h1_1,h5_1,250000\n1,h2_1,h3_1,10000000\n")
    done = polarlab(*RUN, "--flow-file", str(file), "--drain", "1", "--out", str(out))
    assert done.returncode == 0, done.stderr
    flows = json.loads(done.stdout)["flows"]
    assert (flows["started"], flows["completed"], flows["unfinished"], flows["failed"]) == (2, 1, 1, 0)
    first, second = table(out / "flows.csv")
    # A machine whose time is stolen makes a flow slower, and nothing makes it faster.
    assert float(first["ideal_ms"]) == pytest.approx(250_000 * 1.0456 * 8 / 5e6 * 1e3, rel=0.02)
    assert 0.97 < float(first["slowdown"]) < 1.5
    assert second["fct_ms"] == ""
    assert 0 < int(second["received_bytes"]) < 10_000_000


def test_a_flow_file_with_a_host_that_is_not_there_is_refused_in_a_line(tmp_path):
    file = tmp_path / "flows.csv"
    file.write_text("time_s,source,destination,bytes\n0.1,h1_1,h99_1,250000\n")
    done = polarlab(*RUN, "--flow-file", str(file))
    assert done.returncode == 2
    assert "got 'h99_1'" in one_line(done.stderr)

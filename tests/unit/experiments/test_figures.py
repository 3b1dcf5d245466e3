"""Figures from a small folder of results made by hand, and what is said of a damaged one."""

import os
import subprocess
import sys
from dataclasses import MISSING, fields, replace
from pathlib import Path

import pytest
from support.builders import records
from support.fixtures.documents import ROOT

import polarlab
from experiments.codec import plain
from experiments.figures.style import curve_styles
from experiments.results.link_loads import directed_links
from experiments.results.model import Latencies, Summary
from experiments.results.open import Run
from experiments.results.parts.collective import CollectiveSize, CollectiveSummary
from experiments.results.parts.replications import Replications
from routing.registry import ROUTINGS
from topology.errors import ParameterError
from topology.families.low_diameter.polarfly import PolarFly

FIGURES = ("throughput", "latency", "links")
SUMMARY = records.summary(
    params={"q": 2},
    endpoints=2,
    link_rate_bps=2_000_000,
    pattern="uniform",
    warmup_s=0.5,
    measured_s=0.5,
    latency_ms=Latencies(1.5, 1.0, 4.0, 4.0),
)
REQUIRED = [field.name for field in fields(Summary) if field.default is field.default_factory is MISSING]
THROUGHPUT = """time_s,host,tx_bytes,rx_bytes
0.5,h1_1,1000,0
0.5,h2_1,0,1000
1.0,h1_1,2000,0
1.0,h2_1,0,1900
"""
PAIRS = """source,destination,distance,sent_frames,received_frames
h1_1,h2_1,2,30,29
h2_1,h1_1,1,10,10
"""
HOPS = "hops,packets\n1,10\n2,29\n"
LATENCY = "latency_ms,packets\n1,30\n2,8\n4,1\n"
LINKS = "link,port,load,dropped_packets\n" + "".join(
    f"{link.name},{link.port},{0.05 * place:.3f},0\n"
    for place, link in enumerate(directed_links(PolarFly(2)))
)
COLLECTIVE = CollectiveSummary(
    name="allreduce",
    algorithm="ring",
    ranks=4,
    message_bytes=4096,
    iterations=2,
    sizes=(
        CollectiveSize(4096, 2, bus_bandwidth_bps=1_000_000, algorithm_bandwidth_bps=700_000),
        CollectiveSize(65536, 0),
    ),
)
ITERATIONS = """message_bytes,iteration,start_s,completion_ms,wrong_ranks
4096,-1,0.1,40,0
4096,0,0.2,33,0
4096,1,0.3,34,0
"""


@pytest.fixture
def results(tmp_path) -> Path:
    records.write(tmp_path, "summary.json", SUMMARY)
    (tmp_path / "throughput.csv").write_text(THROUGHPUT)
    (tmp_path / "pairs.csv").write_text(PAIRS)
    (tmp_path / "hops.csv").write_text(HOPS)
    (tmp_path / "latency.csv").write_text(LATENCY)
    (tmp_path / "link_loads.csv").write_text(LINKS)
    return tmp_path


def test_figures_are_drawn(results):
    paths = polarlab.plot(results).save()
    assert [path.stem for path in paths] == [name for name in FIGURES for _ in ("png", "svg")]
    for png, svg in zip(paths[::2], paths[1::2], strict=True):
        assert png.read_bytes().startswith(b"\x89PNG")
        assert png.stat().st_size > 10_000
        assert b"<svg" in svg.read_bytes()


def test_the_fabric_is_drawn_with_its_links_loads(results):
    polarlab.plot(results).save()
    drawn = (results / "links.svg").read_text()
    assert "max 2.0" in drawn or "max 0.85" in drawn
    assert "Jain" in drawn
    assert "load of the busier direction" in drawn


def test_without_its_graph_the_loads_are_drawn_as_bars(results):
    records.write(results, "summary.json", replace(SUMMARY, params={"q": 3}))
    polarlab.plot(results).save()
    drawn = (results / "links.svg").read_text()
    assert "Jain" in drawn
    assert "load of the busier direction" not in drawn


def test_a_run_before_links_were_logged_is_drawn(results):
    (results / "link_loads.csv").unlink()
    assert [path.name for path in polarlab.plot(results).save()][-1] == "latency.svg"


def test_a_collectives_bandwidth_is_drawn(results):
    records.write(results, "summary.json", replace(SUMMARY, collective=COLLECTIVE, placement="linear"))
    (results / "collective.csv").write_text(ITERATIONS)
    polarlab.plot(results).save()
    drawn = (results / "collective.svg").read_text()
    assert "4 KiB" in drawn
    assert "64 KiB" not in drawn
    (results / "collective.csv").write_text("nothing")
    with pytest.raises(ParameterError, match="damaged"):
        polarlab.plot(results).save()


def test_a_repeated_run_has_the_figures_of_each_seed(results, tmp_path):
    for seed in (1, 2):
        (results / f"seed-{seed}").mkdir()
        for name in ("summary.json", "throughput.csv", "pairs.csv", "hops.csv", "latency.csv"):
            (results / f"seed-{seed}" / name).write_text((results / name).read_text())
    records.write(results, "summary.json", replace(SUMMARY, repeat=Replications(asked=2, seeds=(1, 2))))
    paths = polarlab.plot(results).save()
    assert {path.parent.name for path in paths} == {"seed-1", "seed-2"}


def test_figures_can_be_drawn_again(results):
    assert polarlab.plot(results).save() == polarlab.plot(results).save()


def test_a_run_with_longer_paths_than_the_graphs_is_drawn(results):
    (results / "hops.csv").write_text(HOPS + "5,1\n")
    assert polarlab.plot(results).save()[0].stat().st_size > 0


def test_a_run_in_which_nothing_was_sent_is_drawn(results):
    records.write(results, "summary.json", replace(SUMMARY, offered=0.0, accepted=0.0))
    (results / "throughput.csv").write_text("time_s,host,tx_bytes,rx_bytes\n0.5,h1_1,0,0\n0.5,h2_1,0,0\n")
    (results / "pairs.csv").write_text(PAIRS.splitlines()[0] + "\n")
    (results / "hops.csv").write_text("hops,packets\n")
    (results / "latency.csv").write_text("latency_ms,packets\n")
    assert polarlab.plot(results).save()[0].stat().st_size > 0


def test_a_missing_folder_is_told(tmp_path):
    with pytest.raises(ParameterError, match="nowhere"):
        polarlab.plot(tmp_path / "nowhere").save()


def test_a_file_is_no_folder_of_results(results):
    with pytest.raises(ParameterError, match=r"summary\.json is not"):
        polarlab.plot(results / "summary.json").save()


def test_an_empty_folder_holds_no_run(tmp_path):
    with pytest.raises(ParameterError, match=r"summary\.json is missing"):
        polarlab.plot(tmp_path).save()


@pytest.mark.parametrize("name", ["throughput.csv", "pairs.csv", "hops.csv", "latency.csv"])
def test_a_missing_series_is_told(results, name):
    (results / name).unlink()
    with pytest.raises(ParameterError, match=f"{name} is missing"):
        polarlab.plot(results).save()


@pytest.mark.parametrize("name", ["throughput.csv", "pairs.csv", "hops.csv", "latency.csv", "link_loads.csv"])
@pytest.mark.parametrize(
    "content", ["", "a,b\n1,2\n", "\0\1\2", "half"], ids=["empty", "foreign", "binary", "torn"]
)
def test_a_damaged_series_is_told(results, name, content):
    (results / name).write_text(content)
    with pytest.raises(ParameterError, match="damaged"):
        polarlab.plot(results).save()
    assert not (results / "throughput.png").exists()


def test_a_throughput_without_rows_is_told(results):
    (results / "throughput.csv").write_text(THROUGHPUT.splitlines()[0] + "\n")
    with pytest.raises(ParameterError, match="damaged"):
        polarlab.plot(results).save()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("throughput.csv", "1000", "many"),
        ("throughput.csv", "0.5", "soon"),
        ("pairs.csv", ",2,30", ",far,30"),
        ("pairs.csv", ",2,30", ",-2,30"),
        ("hops.csv", "29", "x"),
        ("hops.csv", "2,29", "-2,29"),
        ("latency.csv", "4,1", "4,x"),
        ("latency.csv", "4,1", "4,-100"),
        ("latency.csv", "4,1", "4,inf"),
        ("latency.csv", "1,30\n2,8\n4,1", "-1,30\n-2,8\n-4,1"),
        ("link_loads.csv", "0.050", "nan"),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")  # as users have it: Matplotlib's are no errors
def test_values_of_a_wrong_kind_are_told(results, name, old, new):
    text = (results / name).read_text()
    assert old in text
    (results / name).write_text(text.replace(old, new, 1))
    with pytest.raises(ParameterError, match="damaged"):
        polarlab.plot(results).save()


@pytest.mark.parametrize("key", REQUIRED)
def test_a_summary_of_another_program_is_told(results, key):
    rest = {name: value for name, value in plain(SUMMARY).items() if name != key}
    records.write(results, "summary.json", rest)
    with pytest.raises(ParameterError, match=f"damaged.*{key}"):
        polarlab.plot(results).save()


@pytest.mark.parametrize(
    "change", [{"params": [1]}, {"params": None}, {"offered": "all"}, {"endpoints": "2"}]
)
def test_a_summary_with_values_of_another_kind_is_told(results, change):
    records.write(results, "summary.json", {**plain(SUMMARY), **change})
    with pytest.raises(ParameterError, match="damaged"):
        polarlab.plot(results).save()


def test_a_summary_of_a_later_version_is_read(results):
    records.write(results, "summary.json", {**plain(SUMMARY), "colour": "blue"})
    assert Run(results).summary == SUMMARY


def test_a_summary_of_a_newer_format_is_refused(results):
    records.write(results, "summary.json", {**plain(SUMMARY), "format": 99})
    with pytest.raises(ParameterError, match=r"format 1 .* 99"):
        polarlab.plot(results).save()


def test_a_damaged_replication_is_told_before_anything_is_drawn(results):
    for seed in (1, 2):
        (results / f"seed-{seed}").mkdir()
        for name in ("summary.json", "throughput.csv", "pairs.csv", "hops.csv", "latency.csv"):
            (results / f"seed-{seed}" / name).write_text((results / name).read_text())
    records.write(results, "summary.json", replace(SUMMARY, repeat=Replications(asked=2, seeds=(1, 2))))
    (results / "seed-2" / "summary.json").write_text("{")
    with pytest.raises(ParameterError, match="seed-2"):
        polarlab.plot(results).save()
    assert not list(results.rglob("*.png"))


def test_a_folder_that_matplotlib_cannot_write_is_not_told_of():
    """It warns in two long lines; its figures are the same."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": "/dev/null"}
    words = [sys.executable, "-c", "import experiments.figures.style"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=90, check=True)
    assert done.stdout + done.stderr == ""


def test_every_curve_of_a_figure_differs_and_a_known_routing_looks_the_same_in_all():
    varied = [f"ugal-pf:threshold={tenth / 10:g}" for tenth in range(3, 10)]
    for curves in (ROUTINGS, [*ROUTINGS, *varied, "somebody-elses"], ["min", "somebody-elses"]):
        styles = curve_styles(curves)
        assert len({*styles.values()}) == len(curves)
        assert styles["min"] == curve_styles(["min"])["min"]

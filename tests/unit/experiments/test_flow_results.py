"""Results of TCP flows from a record: slowdowns by class, bytes on links, replications, comparisons."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import polarlab
from controller.occupancy.queues import QueueState
from experiments.comparison.compare import compare
from experiments.figures.comparison import draw_comparison
from experiments.figures.flows import NONE_COMPLETED
from experiments.figures.replications import draw_replications
from experiments.flows.runs import stable_minimum
from experiments.planned_fabric import PlannedFabric
from experiments.results.link_loads import LinkLog, directed_links
from experiments.results.manifest import run_manifest
from experiments.results.model import Adaptation, PairCheck
from experiments.results.open import Run
from experiments.results.parts.flows import class_rows
from experiments.results.record import RunRecord
from experiments.results.replications import combine
from experiments.results.run_directory import MANIFEST, SUMMARY, RunDirectory
from experiments.results.series import write_series
from experiments.results.summary import summarise
from experiments.spec.fabric import FabricOptions
from experiments.spec.flows import FlowOptions
from experiments.validity.samples import CpuSamples, HeldSamples, HeldSecond, SwitchSample
from topology.families.low_diameter.polarfly import PolarFly
from topology.files.writing import Folder
from topology.links import LinkSpec
from traffic.metrics.histogram import LogHistogram
from traffic.metrics.measurements import FLOW, Clock, FlowOutcome, TrafficResult

RATE_BPS, BASE_MS = 1_000_000, 1.0
# (start in s, source, destination, bytes, slowdown or None)
FLOWS = [
    (0.1, 0, 1, 5_000, 1.0),  # of the warm-up
    (1.0, 0, 1, 5_000, 2.0),
    (1.5, 2, 4, 9_999, 4.0),
    (2.0, 0, 1, 50_000, 1.5),
    (2.5, 3, 5, 2_000_000, None),
]


def ideal_ms(size):
    burst = 2 * 1518
    frames = size + 66 * -(-size // 1448)
    return BASE_MS + max(0, frames - burst) * 8 / RATE_BPS * 1e3


def outcome(fabric):
    flows = np.zeros(len(FLOWS), FLOW)
    for record, (start_s, source, destination, size, slowdown) in zip(flows, FLOWS, strict=True):
        record["time_ns"] = record["started_ns"] = start_s * 1e9
        record["source"], record["destination"], record["bytes"] = source, destination, size
        done = slowdown is not None
        record["finished_ns"] = (start_s * 1e9 + slowdown * ideal_ms(size) * 1e6) if done else -1
        record["received_bytes"] = record["sent_bytes"] = size if done else size // 2
        record["sent_segments"] = record["received_segments"] = -(-size // 1448) + 4
        record["answer_segments"] = record["received_answers"] = 10
    hosts = len(fabric.hosts)
    segments = int(flows["sent_segments"].sum() + flows["answer_segments"].sum())
    wire = int(flows["sent_bytes"].sum() + 66 * segments + 16 * len(flows))
    hops = np.where(np.eye(hosts, dtype=bool), 255, fabric.host_distances()).astype(np.uint8)
    tx = np.zeros((20, hosts), np.int64)
    tx[0, 0] = wire
    counts = np.zeros(hosts, np.int64)
    counts[0] = segments
    return FlowOutcome(
        flows=flows,
        tx_frames=counts,
        rx_frames=counts,
        bytes_sent=tx,
        bytes_received=tx,
        window_bytes=np.full(hosts, 1000),
        hop_bytes=np.zeros((hosts, hosts)),
        sampled_bytes=np.zeros((hosts, hosts), np.int64),
        hops=np.bincount([1, 2], minlength=256),
        hops_min=hops,
        hops_max=np.where(hops == 255, 0, hops).astype(np.uint8),
        lag=LogHistogram(),
        gap_ns=2_000_000,
        seconds=5.0,
    )


@pytest.fixture
def figures(monkeypatch):
    """The figures that are drawn, by their files' names."""
    saved, drawn = {}, []
    draw, write_file, new_file = Figure.savefig, Folder.write, Folder.create

    def savefig(self, file, **options):
        drawn.append(self)
        draw(self, file, **options)

    def write(self, name, content):
        if name.endswith(".png"):
            saved[name] = drawn[-1]
        write_file(self, name, content)

    def create(self, name):
        if name.endswith(".png"):
            saved[name] = drawn[-1]
        return new_file(self, name)

    monkeypatch.setattr(Figure, "savefig", savefig)
    monkeypatch.setattr(Folder, "write", write)
    monkeypatch.setattr(Folder, "create", create)
    return saved


@pytest.fixture
def record():
    topology = PolarFly(2)
    options = FabricOptions("polarfly", {"q": 2}, topology, 1, "min", LinkSpec(RATE_BPS, 32), "user")
    fabric = PlannedFabric(
        options=options,
        bringup_s={"build": 1.0},
        datapath="user",
        framework="os-ken",
    )
    flows = FlowOptions(
        "uniform",
        0.4,
        "web-search",
        tcp="cubic",
        warmup_s=1.0,
        duration_s=3.0,
        drain_s=1.0,
        frame_bytes=1514,
        seed=1,
    )
    measured = outcome(fabric)
    result = TrafficResult(
        measured.sent(), measured.received(), Clock(0, 0), 250_000_000, (10**9, 4 * 10**9), flows=measured
    )
    return RunRecord(
        fabric=fabric,
        traffic=flows,
        check=PairCheck(42, 42, 0, 0, 2, seconds=0.5),
        result=result,
        cpu=CpuSamples([2.5, 3.5], [0.9, 0.9], [0.0, 0.0]),
        links=None,
        adaptation=Adaptation(None, 0),
        flow_base_ms={1: BASE_MS, 2: BASE_MS},
    )


def test_flows_of_the_window_count_by_class_and_none_is_dropped(record):
    flows = summarise(record).flows
    assert (flows.started, flows.completed, flows.unfinished, flows.warmup) == (4, 3, 1, 1)
    assert [(entry.name, entry.flows, entry.completed) for entry in flows.classes] == [
        ("< 10 KB", 2, 2),
        ("10-100 KB", 1, 1),
        (">= 1 MB", 1, 0),
    ]
    small, _, large = flows.classes
    assert (small.slowdown.mean, small.slowdown.p50, small.slowdown.p99) == pytest.approx((3, 2, 4), abs=1e-3)
    assert small.bytes == 14_999
    assert large.slowdown.mean is None
    assert flows.fct_ms.p99 == pytest.approx(1.5 * ideal_ms(50_000), abs=1e-3)
    assert class_rows(flows.classes)[0]["slowdown_p99"] == small.slowdown.p99


def test_offered_is_what_the_flows_frames_are_of_the_capacity_in_the_window(record):
    summary = summarise(record)
    frames = sum(size + 66 * -(-size // 1448) for _, _, _, size, _ in FLOWS[1:])
    assert summary.offered == pytest.approx(frames * 8 / (7 * RATE_BPS * 3), abs=1e-6)
    assert summary.latency_ms.mean is None
    assert summary.predicted is None


def standing_still(record, gap_ms):
    """Returns the reasons to doubt the record if the flows' process stalled for a time."""
    measured = replace(record.result.flows, gap_ns=round(gap_ms * 1e6))
    reasons = summarise(replace(record, result=replace(record.result, flows=measured))).fidelity.reasons
    return [reason for reason in reasons if "stalled" in reason]


def test_flows_whose_process_stands_still_for_longer_than_the_kernel_can_buffer_are_not_valid(record):
    buffered_ms = 32 * 1024 * 8 / RATE_BPS * 1e3
    assert standing_still(record, 0.9 * buffered_ms) == []
    (reason,) = standing_still(record, 1.1 * buffered_ms)
    assert f"stalled for {1.1 * buffered_ms:.0f} ms" in reason


def test_flows_are_judged_until_the_last_one_has_ended(record):
    waiting = [0.01, 0.01, 0.01, 0.01, 50.0]
    held = [HeldSecond(at_s, at_s + 1, {"s4": SwitchSample(100, n)}) for at_s, n in enumerate(waiting)]
    fidelity = summarise(replace(record, held=HeldSamples(held))).fidelity
    assert (fidelity.valid, fidelity.worst_switch, fidelity.worst_second) == (False, "s4", 4.0)


def test_bytes_of_links_agree_with_those_of_flows_times_hops(record):
    measured, topology = record.result.flows, record.fabric.options.topology
    distances = record.fabric.host_distances()
    flows = measured.flows
    wire = flows["sent_bytes"] + 66 * (flows["sent_segments"] + flows["answer_segments"]) + 16
    carried = int((wire * distances[flows["source"], flows["destination"]]).sum())
    log = LinkLog()
    first, *_ = directed_links(topology)
    for time_s, sent in ((0.0, 500), (5.0, 500 + carried)):
        for router in range(topology.routers):
            ports = range(1, 1 + len(topology.neighbours(router)))
            states = {
                port: QueueState(0, 0, sent if (router, port) == (first.source, first.port) else 0, 0)
                for port in ports
            }
            log.history.note(router + 1, time_s, states)
    told = summarise(replace(record, links=log)).flows.bytes
    assert told.links_counted == carried
    assert told.links_by_flows == pytest.approx(carried, abs=1)
    assert told.links_error == pytest.approx(0, abs=1e-5)
    assert told.wire == wire.sum()


def written(folder, record):
    directory = RunDirectory(folder)
    directory.write_record(MANIFEST, run_manifest(record.fabric, record.traffic.settings(), 1))
    directory.write_record(SUMMARY, summarise(record))
    write_series(directory, record)
    return folder


def test_a_run_of_flows_is_written_read_and_drawn(tmp_path, record):
    folder = written(tmp_path / "run", record)
    with (folder / "flows.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(FLOWS)
    assert (rows[1]["source"], rows[1]["bytes"], float(rows[1]["slowdown"])) == ("h1_1", "5000", 2.0)
    assert (rows[-1]["fct_ms"], rows[-1]["slowdown"]) == ("", "")  # kept, though not complete
    assert Run(folder).summary == summarise(record)
    assert Run(folder).manifest.traffic.tcp == "cubic"
    drawn = {path.name for path in polarlab.plot(folder).save()}
    assert "slowdown.png" in drawn
    assert "latency.png" not in drawn


def of_flows(record, change):
    """Returns the record with flows that were changed."""
    flows = record.result.flows.flows.copy()
    change(flows)
    return replace(record, result=replace(record.result, flows=replace(record.result.flows, flows=flows)))


def none_completed(flows):
    flows["finished_ns"] = -1


def none_started(flows):
    flows["started_ns"] = flows["finished_ns"] = -1


@pytest.mark.parametrize("change", [none_completed, none_started])
def test_a_run_whose_flows_were_not_completed_is_drawn_reported_and_compared(
    tmp_path, record, figures, change
):
    """So is one that was interrupted at its begin."""
    folder = written(tmp_path / "run", of_flows(record, change))
    polarlab.plot(folder).save()
    (axes,) = figures["slowdown.png"].axes
    assert [text.get_text() for text in axes.texts] == [NONE_COMPLETED]
    assert "table" in polarlab.report(folder).read_text()
    other = written(tmp_path / "other", record)
    assert compare(folder, other).results["slowdown_p99, all"][0] is None
    one = summarise(of_flows(record, change))
    both = combine([one, replace(one, seed=one.seed + 1)], 2)
    assert both.flows.slowdown.mean is None


@pytest.mark.parametrize("slowdown", [1.0, 20.0])
def test_flows_of_one_size_are_in_the_middle_of_a_figure_with_sensible_limits(
    tmp_path, record, figures, slowdown
):
    def change(flows):
        flows["bytes"] = 20_000
        flows["finished_ns"] = flows["started_ns"] + round(slowdown * ideal_ms(20_000) * 1e6)

    polarlab.plot(written(tmp_path / "run", of_flows(record, change))).save()
    (axes,) = figures["slowdown.png"].axes
    low, high = axes.get_xlim()
    assert low <= 10_001
    assert high >= 39_999
    low, high = axes.get_ylim()
    assert low <= 0.9
    assert slowdown * 1.1 <= high <= 100
    axes.figure.draw_without_rendering()
    assert [label.get_text() for label in axes.get_xticklabels() if label.get_text()] == ["20 KB"]


def test_flows_that_are_faster_than_the_empty_fabric_make_the_result_invalid(record):
    """The times of the empty fabric were then measured on a busy machine."""

    def change(flows):
        flows["finished_ns"][1] = flows["started_ns"][1] + 0.94 * ideal_ms(5_000) * 1e6

    summary = summarise(of_flows(record, change))
    assert summary.flows.below_ideal == pytest.approx(1 / 3, abs=1e-3)
    assert not summary.fidelity.valid
    assert any("33.3% of the completed flows" in reason for reason in summary.fidelity.reasons)
    assert not any("completed flows" in reason for reason in summarise(record).fidelity.reasons)


def test_times_of_the_empty_fabric_are_the_least_of_several_rounds():
    rounds = iter([{1: 9.0, 2: 30.0}, {1: 3.0, 2: 31.0}, {1: 1.0, 2: 12.0}, {1: 1.2, 2: 11.9}, {1: 0.1}])
    assert stable_minimum(lambda: next(rounds)) == {1: 1.0, 2: 11.9}
    assert next(rounds) == {1: 0.1}  # it was stable before
    falling = iter(range(100, 0, -10))
    assert stable_minimum(lambda: {1: float(next(falling))}) == {1: 50.0}


def test_routings_stand_side_by_side(tmp_path, record):
    folders = [written(tmp_path / name, record) for name in ("one", "two")]
    comparison = compare(*folders)
    results = comparison.results
    assert results["slowdown_p99, < 10 KB"] == pytest.approx([4.0, 4.0], abs=1e-3)
    assert results["flows_started, all"] == [4, 4]
    assert results["flows_unfinished, >= 1 MB"] == [1, 1]
    assert results["fct_p99_ms, all"] == pytest.approx([1.5 * ideal_ms(50_000)] * 2, abs=1e-3)
    assert results["fct_p50_ms, >= 1 MB"] == [None, None]
    assert not {*results} & {*comparison.same, *comparison.differing}  # a name is that of one row


def test_a_figure_has_the_slowdowns_of_routings_side_by_side_by_class(tmp_path, record, figures):
    options = replace(record.fabric.options, routing="ugal")
    other = replace(record, fabric=replace(record.fabric, options=options))
    folders = [written(tmp_path / "one", record), written(tmp_path / "two", other)]
    draw_comparison(compare(*folders), tmp_path / "both.png")
    (figure,) = figures.values()
    assert [axes.get_title() for axes in figure.axes] == ["slowdown, median", "slowdown, 99th percentile"]
    names = [label.get_text().replace("\n", "") for label in figure.axes[0].get_xticklabels()]
    assert names == ["< 10 KB", "10-100 KB", ">= 1 MB", "all"]
    heights = [bar.get_height() for bar in figure.axes[1].patches]
    assert heights[:2] == pytest.approx([4.0, 1.5], abs=1e-3)
    assert {text.get_text() for text in figure.legends[0].get_texts()} >= {"one (min)", "two (ugal)"}
    assert "-" in [text.get_text() for text in figure.axes[0].texts]  # no flow of that class was completed


def test_the_figure_of_throughput_tells_which_frames_it_counts_and_what_is_estimated(
    tmp_path, record, figures
):
    """Host 1 sent all frames in the first 250 ms; in the whole run they are more than the window's flows."""
    measured = record.result.flows
    sent = np.zeros_like(measured.bytes_sent)
    sent[4:16, 0] = 125_000 // 4  # 1 Mbit/s in the window of 3 s
    flows = replace(measured, bytes_sent=sent)
    result = replace(record.result, flows=flows, sent=flows.sent(), received=flows.received())
    polarlab.plot(written(tmp_path / "run", replace(record, result=result))).save()
    left, right = figures["throughput.png"].axes
    labels = [text.get_text() for axes in (left, right) for text in axes.get_legend().get_texts()]
    assert "all frames sent, including TCP's own: 0.143 of the injection capacity" in labels  # 7 x 1 Mbit/s
    assert "received, by hops taken (estimate, 1/8 sampled)" in labels
    assert right.get_ylabel() == "frames of the whole run, including TCP's own"


def test_replications_are_drawn_with_their_slowdowns_by_class(tmp_path, record):
    folder = tmp_path / "run"
    for seed in (1, 2):
        written(folder / f"seed-{seed}", replace(record, traffic=replace(record.traffic, seed=seed)))
    both = combine([summarise(record), replace(summarise(record), seed=2)], 2)
    directory = RunDirectory(folder, resume=True)
    directory.write_record(MANIFEST, run_manifest(record.fabric, record.traffic.settings(), 1))
    directory.write_record(SUMMARY, both)
    figure = draw_replications(Run(folder))["replications"]
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels[-2:] == ["slowdown, median", "slowdown, 99th percentile"]
    assert not any("latency" in label for label in labels)
    drawn = [line.get_ydata() for line in figure.axes[-1].lines if line.get_marker() == "o"]
    assert drawn[0] == pytest.approx([4.0, 4.0], abs=1e-3)
    assert "means over all seeds" in polarlab.report(folder).read_text()


def test_a_report_of_flows_has_their_kind_in_its_title_and_begins_with_their_classes(tmp_path, record):
    page = polarlab.report(written(tmp_path / "run", record)).read_text()
    assert "web-search TCP flows at load 0.4, uniform pattern, under min" in page
    table, figure = page.index("10-100 KB"), page.index("data:image/svg")
    assert page.index("TCP flows by size") < table < figure


def test_replications_add_flows_up_and_average_slowdowns(record):
    one = summarise(record)
    both = combine([one, replace(one, seed=2)], 2)
    assert both.flows.started == 8
    assert both.flows.classes[0].flows == 4
    assert both.flows.slowdown == one.flows.slowdown
    assert both.repeat.slowdown_p99.mean == one.flows.slowdown.p99

"""Drawn figures, measured: titles and legends are whole and cover nothing, and what happened is marked."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from support.builders import records, result_folders

import polarlab
from experiments.comparison.compare import compare
from experiments.figures.comparison import draw_comparison
from experiments.figures.fabric import draw_topology
from experiments.figures.replications import draw_replications
from experiments.results.flows.statistics import FLOW_COLUMNS, FLOWS
from experiments.results.model import Fidelity
from experiments.results.open import Run, open_results
from experiments.results.parts.collective import CollectiveSize, CollectiveSummary
from experiments.results.parts.faults import FaultRecord, InjectedFault, ReplanRecord
from experiments.results.parts.flows import FlowBytes, FlowSummary, Quantiles
from experiments.results.parts.programs import ProgramRecord
from experiments.results.run_directory import RunDirectory
from experiments.results.tables import EVENT_COLUMNS, EVENTS, LINK_COLUMNS, LINKS
from experiments.spec.programs import NOT_GENERATED
from polarlab.cli import main as entry
from topology.errors import Status
from topology.files.writing import Folder
from topology.registry import make_topology

ROUTINGS = ("min", "valiant", "ugal-pf")
PATTERNS = ("tornado", "perm2hop")
MANY_FAULTS = FaultRecord(
    tuple(InjectedFault(2 + 0.02 * n, f"{'restore' if n % 2 else 'fail'} link:s1-s10") for n in range(30)), ()
)


@pytest.fixture
def figures(monkeypatch):
    """The figures that are saved, laid out; tests draw them."""
    saved, drawn = {}, []
    write_file, new_file = Folder.write, Folder.create

    def savefig(self, _file, **_options):
        drawn.append(self)

    def write(self, name, content):
        if name.endswith(".png"):
            saved.setdefault(str(self.path / name), drawn[-1])
        elif not name.endswith(".svg"):
            write_file(self, name, content)

    monkeypatch.setattr(Figure, "savefig", savefig)

    def create(self, name):
        if name.endswith(".png"):
            saved.setdefault(str(self.path / name), drawn[-1])
        return new_file(self, name)

    monkeypatch.setattr(Folder, "write", write)
    monkeypatch.setattr(Folder, "create", create)
    return saved


def boxes(figure):
    """Returns the places of titles, labels and legends, and those of the axes, in pixels."""
    figure.draw_without_rendering()
    texts = {f"text {number}": text for number, text in enumerate(figure.texts)}  # title and events
    for number, axes in enumerate(figure.axes):
        texts |= {f"title {number}": axes.title, f"legend {number}": axes.get_legend()}
        if axes.axison:
            texts |= {f"x label {number}": axes.xaxis.label, f"y label {number}": axes.yaxis.label}
    texts |= {f"figure's legend {number}": legend for number, legend in enumerate(figure.legends)}
    shown = {name: artist for name, artist in texts.items() if artist is not None}
    shown = {name: a for name, a in shown.items() if not (hasattr(a, "get_text") and not a.get_text())}
    extents = {name: artist.get_window_extent() for name, artist in shown.items()}
    return extents, {f"axes {number}": axes.bbox for number, axes in enumerate(figure.axes)}


def overlap(a, b):
    """Returns whether two boxes have more than a pixel in common in both directions."""
    width = min(a.x1, b.x1) - max(a.x0, b.x0)
    height = min(a.y1, b.y1) - max(a.y0, b.y0)
    return width > 1 and height > 1


def check(figure):
    texts, axes = boxes(figure)
    for name, box in texts.items():
        inside = (
            box.x0 >= -1 and box.y0 >= -1 and box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1
        )
        assert inside, f"{name} is cut off: {box}"
        for other, place in axes.items():
            assert not overlap(box, place), f"{name} covers {other}"
    for (name, box), (other, place) in combinations(texts.items(), 2):
        assert not overlap(box, place), f"{name} covers {other}"


def run(folder):
    summary = records.summary(faults=result_folders.FAULTS, fidelity=result_folders.SILENT)
    return [result_folders.write_run(folder, summary)]


def run_with_many_faults(folder):
    return [result_folders.write_run(folder, records.summary(faults=MANY_FAULTS))]


def run_of_a_collective(folder):
    sizes = tuple(CollectiveSize(size, 2, 1.0, 1.0, 1.0, 500_000, 900_000) for size in (1024, 65536))
    result = CollectiveSummary(
        name="allreduce", algorithm="ring", ranks=4, message_bytes=65536, iterations=2, sizes=sizes
    )
    result_folders.write_run(folder, records.summary(collective=result, pattern="allreduce:ring", ranks=4))
    rows = "65536,-1,0.1,40,0\n65536,0,0.2,33,0\n1024,0,0.3,34,0\n"
    (folder / "collective.csv").write_text(
        "message_bytes,iteration,start_s,completion_ms,wrong_ranks\n" + rows
    )
    return [folder]


def run_of_flows(folder):
    times = Quantiles(2.0, 1.5, 9.0)
    result = FlowSummary(
        **{"tcp": "cubic", "started": 3, "completed": 3, "unfinished": 0, "failed": 0, "warmup": 0},
        **{"fct_ms": times, "slowdown": times, "base_ms": {1: 0.5}, "bytes": FlowBytes(10, 0, 12, 12)},
        classes=(),
        flow_sizes="web-search",
    )
    result_folders.write_run(folder, records.summary(flows=result))
    rows = [
        dict.fromkeys(FLOW_COLUMNS, "1") | {"time_s": 3, "bytes": 900 * 40**n, "slowdown": 1.5 + n}
        for n in range(3)
    ]
    RunDirectory(folder, resume=True).write_csv(FLOWS, FLOW_COLUMNS, [tuple(row.values()) for row in rows])
    return [folder]


def run_of_own_programs(folder):
    programs = tuple(
        ProgramRecord(
            host="h1_1",
            command=f"iperf3 -c h{number}_1 " + "--a-long-option " * number,
            status=number % 3,
            started_s=0.1 * number,
            ended_s=8.0,
            output="a",
            errors="b",
        )
        for number in range(20)
    )
    summary = records.summary(pattern=NOT_GENERATED[0], programs=programs, faults=result_folders.FAULTS)
    result_folders.write_run(folder, summary)
    rows = [(0.25 * n, f"s1-s{link}", 1, 9000 * link, 0, 0) for link in range(10, 14) for n in range(20)]
    RunDirectory(folder, resume=True).write_csv(LINKS, LINK_COLUMNS, rows)
    return [folder]


def replications(folder):
    return [result_folders.write_replications(folder, invalid=2)]


def small_sweep(folder):
    return [result_folders.write_sweep(folder, ROUTINGS, PATTERNS, (1.0,))]


def simulated_sweep(folder):
    return [
        result_folders.write_sweep(folder, ("min", "ugal-pf"), ("tornado",), (0.2,), params={"q": 5}, hosts=3)
    ]


def sweep_with_many_curves(folder):
    vary = ("queue=8,32,100", "link-rate=500kbit,1Mbit")
    return [result_folders.write_sweep(folder, ROUTINGS, ("tornado",), vary=vary)]


def sweep_over_a_key(folder):
    return [
        result_folders.write_sweep(folder, ROUTINGS, PATTERNS, (0.5,), loads=(0.5,), vary=("queue=8,32,100",))
    ]


def failover(folder):
    return [result_folders.write_failover(folder)]


KINDS = [
    *(run, run_with_many_faults, run_of_a_collective, run_of_flows, run_of_own_programs, replications),
    *(small_sweep, simulated_sweep, sweep_with_many_curves, sweep_over_a_key, failover),
]


@pytest.mark.parametrize("write", KINDS, ids=lambda write: write.__name__)
def test_titles_and_legends_are_whole_and_cover_nothing(write, tmp_path, figures):
    (folder,) = write(tmp_path / "results")
    assert polarlab.plot(folder).save()
    assert figures
    for figure in figures.values():
        check(figure)


def long_named(folder, write, **changes):
    return write(folder / ("a-folder-with-a-name-that-is-rather-long-" * 2 + str(len(changes))), **changes)


def runs_of_long_names(folder):
    bad = records.summary(fidelity=Fidelity(False, ("slow",)), accepted=0.1)
    several = result_folders.write_replications(folder / "several")
    return [
        several,
        long_named(folder, result_folders.write_run),
        result_folders.write_run(folder / "bad", bad),
    ]


def two_sweeps(folder):
    write = result_folders.write_sweep
    return [write(folder / "one", ROUTINGS, PATTERNS, (1.0,)), write(folder / "two", ROUTINGS, PATTERNS)]


def two_failovers(folder):
    changed = replace(result_folders.FAILOVER, gap_ms=0.0, repaired_ms=None)
    return [
        long_named(folder, result_folders.write_failover),
        result_folders.write_failover(folder / "two", changed),
    ]


def two_sweeps_over_a_key(folder):
    write, vary = result_folders.write_sweep, {"loads": (0.5,), "vary": ("queue=8,32,100",)}
    return [
        write(folder / "one", ROUTINGS, PATTERNS, **vary),
        write(folder / "two", ROUTINGS, PATTERNS, **vary),
    ]


@pytest.mark.parametrize(
    "write",
    [runs_of_long_names, two_sweeps, two_sweeps_over_a_key, two_failovers],
    ids=lambda write: write.__name__,
)
def test_comparisons_are_whole_and_cover_nothing(write, tmp_path, figures):
    draw_comparison(compare(*write(tmp_path)), tmp_path / "both.png")
    for figure in figures.values():
        check(figure)
        assert figure.get_suptitle().startswith(("2 ", "3 "))


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("slimfly", {"q": 5}),
        ("polarfly", {"q": 7}),
        ("polarstar", {"q": 2, "supernode": "iq", "degree": 3}),
        ("graph", {"from": str(Path(__file__).parents[3] / "examples" / "torus-3x3.edges")}),
    ],
)
def test_drawings_of_fabrics_are_whole(name, params, tmp_path, figures):
    """Also with a title that is longer than the figure is wide."""
    draw_topology(make_topology(name, params), f"{name}: " + "many words " * 20, tmp_path / "fabric.png")
    for figure in figures.values():
        check(figure)


def test_a_title_has_no_path_of_a_file(tmp_path, figures):
    graph = Path(__file__).parents[3] / "examples" / "torus-3x3.edges"
    words = ["topology", "graph", "--from", str(graph), "--figure", str(tmp_path / "torus.png")]
    assert entry.main(words) == Status.DONE
    (figure,) = figures.values()
    assert figure.get_suptitle().startswith("graph (from = torus-3x3.edges): 9 routers")


def texts_of(axes):
    return [text.get_text() for text in axes.texts]


def crosses(figure):
    return [
        tuple(point)
        for a in figure.axes
        for line in a.lines
        if line.get_marker() == "x"
        for point in line.get_xydata()
    ]


def test_points_that_are_not_valid_are_crossed_out(tmp_path, figures):
    folder = result_folders.write_sweep(tmp_path / "sweep", ("min",), ("tornado",), invalid=(0.6,))
    polarlab.plot(folder).save()
    (figure,) = figures.values()
    assert crosses(figure) == [(0.6, 0.3), (0.6, 10.0)]
    (legend,) = figure.legends
    assert "crossed out: result not valid" in [text.get_text() for text in legend.get_texts()]


def test_faults_are_numbered_lines_over_time_with_a_list(tmp_path, figures):
    polarlab.plot(run(tmp_path / "run")[0]).save()
    throughput = next(figure for path, figure in figures.items() if "throughput" in path)
    numbers = [text for text in texts_of(throughput.axes[0]) if text.isdecimal()]
    assert numbers == ["1", "2", "3", "4", "5", "6"]
    assert "2.500 s  fail controller" in throughput.get_supxlabel()
    links = next(figure for path, figure in figures.items() if "links" in path)
    (legend,) = links.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert "links that failed during the run: 1" in labels
    assert any("starter quadric" in label for label in labels)
    assert "s5" in texts_of(links.axes[0])


def test_all_pairs_of_a_failover_are_averaged_over_whole_rounds(tmp_path, figures):
    """Within a round the hops of all pairs rise from 1.6 to 2.05: no network did that."""
    polarlab.plot(result_folders.write_failover(tmp_path / "demo")).save()
    (figure,) = figures.values()
    dashed = next(line for line in figure.axes[2].lines if line.get_linestyle() == "--")
    assert len(dashed.get_xdata()) == 90
    assert dashed.get_ydata() == pytest.approx([1.825] * 90)


def many_events(plans=0):
    replanned = tuple(ReplanRecord(2.01 + 0.02 * n, "link:s1-s10", 1, 0, 0.1, 0.1) for n in range(plans))
    return replace(MANY_FAULTS, replanned=replanned)


def throughput_of(figures):
    return next(figure for path, figure in figures.items() if "throughput" in path)


def test_all_of_many_faults_are_listed_and_plans_are_left_out(tmp_path, figures):
    polarlab.plot(result_folders.write_run(tmp_path / "run", records.summary(faults=many_events(30)))).save()
    text = throughput_of(figures).get_supxlabel()
    assert text.count("fail link:s1-s10") == text.count("restore link:s1-s10") == 15
    assert "the controller's plan without" not in text
    assert "plans of the controller are not listed" in text
    assert "30 faults" not in throughput_of(figures).get_suptitle()
    assert "15 faults" in throughput_of(figures).get_suptitle()


def test_numbers_of_faults_do_not_lie_on_each_other(tmp_path, figures):
    polarlab.plot(result_folders.write_run(tmp_path / "run", records.summary(faults=many_events(30)))).save()
    figure = throughput_of(figures)
    figure.draw_without_rendering()
    numbers = [text.get_window_extent() for text in figure.axes[0].texts if text.get_text().isdecimal()]
    assert 3 <= len(numbers) < 30
    assert not any(overlap(a, b) for a, b in combinations(numbers, 2))


def test_numbers_of_the_enlarged_failure_do_not_lie_on_each_other(tmp_path, figures):
    folder = result_folders.write_failover(tmp_path / "demo")
    events = [(2.0, "fail switch:s4"), (2.0116, "all watched pairs heard again"), (5.0, "restore switch:s4")]
    (folder / EVENTS).unlink()
    RunDirectory(folder, resume=True).write_csv(EVENTS, EVENT_COLUMNS, events)
    polarlab.plot(folder).save()
    (figure,) = figures.values()
    figure.draw_without_rendering()
    one, two = (text.get_bbox_patch().get_window_extent() for text in figure.axes[1].texts)
    assert not overlap(one, two)


def test_one_failure_is_one_fault(tmp_path, figures):
    faults = replace(result_folders.FAULTS, done=result_folders.FAULTS.done[::3], replanned=())
    polarlab.plot(result_folders.write_run(tmp_path / "run", records.summary(faults=faults))).save()
    assert throughput_of(figures).get_suptitle().endswith(", 1 fault")


def test_numbers_above_neighbouring_bars_do_not_overlap(tmp_path, figures):
    hops = dict.fromkeys(range(1, 8), 1_234_567)
    polarlab.plot(result_folders.write_run(tmp_path / "run", records.summary(hops=hops))).save()
    figure = throughput_of(figures)
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[1].texts if text.get_text() == "1234567"]
    assert len(boxes) == 7
    assert not figure.axes[1].yaxis.get_offset_text().get_text()
    assert not any(overlap(a, b) for a, b in combinations(boxes, 2))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"faults": ("1 fail link:s1-s10",)}, "at each point 1 fail link:s1-s10"),
        ({"faults": ("1 fail s2",) * 9, "faults_asked": "mtbf:links=2s,mttr=1s"}, "mtbf:links=2s,mttr=1s"),
    ],
)
def test_a_sweep_names_its_faults_in_the_title(settings, words, tmp_path, figures):
    polarlab.plot(result_folders.write_sweep(tmp_path / "sweep", ("min",), ("tornado",), **settings)).save()
    (figure,) = figures.values()
    assert words in figure.get_suptitle().replace("\n", " ")
    check(figure)


def test_replications_have_losses_from_zero_and_few_names_of_seeds(tmp_path):
    run = Run(result_folders.write_replications(tmp_path / "run", seeds=range(1, 20)))
    figure = draw_replications(run)["replications"]
    figure.draw_without_rendering()
    loss = next(axes for axes in figure.axes if axes.get_ylabel().startswith("loss"))
    assert loss.get_ylim()[0] == 0
    names = [label.get_window_extent() for label in loss.get_xticklabels()]
    assert not any(overlap(a, b) for a, b in combinations(names, 2))


def test_replayed_flows_are_named_without_their_folder(tmp_path, figures):
    (folder,) = run_of_flows(tmp_path / "run")
    summary = open_results(folder).summary
    flows = replace(summary.flows, flow_sizes=None, flow_file="/home/somebody/flows.csv")
    RunDirectory(folder, resume=True).write_record("summary.json", replace(summary, flows=flows))
    polarlab.plot(folder).save()
    figure = next(figure for path, figure in figures.items() if "slowdown" in path)
    assert "\nflows.csv flows" in figure.get_suptitle()
    assert "somebody" not in figure.get_suptitle()

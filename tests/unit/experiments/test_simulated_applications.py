"""Simulated applications: options, results and their tables, figures, repetition and comparison."""

import csv
import json
from dataclasses import replace

import pytest
from support.fixtures.command_line import fails, prints_json, unnamed

import polarlab
from experiments.events.pace import Unthrottled
from experiments.events.progress import SimulationProgress
from experiments.spec.experiment import Experiment
from topology.errors import Status, UsageError

TRACE = "time_cycles,source,destination,bytes\n0,h1_1,h5_1,4096\n10,h2_1,h5_1,100\n5000,h3_1,h4_1,100000\n"
RING = {"q": 3, "pattern": "allreduce:ring", "message_bytes": "4KiB,64KiB", "iterations": 2}


def rows(folder, name):
    """Returns the rows of a table."""
    with (folder / name).open() as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def ring(tmp_path_factory):
    """The results of a ring allreduce of all hosts of ER_3."""
    return polarlab.simulate("polarfly", out=tmp_path_factory.mktemp("ring") / "one", **RING)


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """The results of a trace on ER_3."""
    folder = tmp_path_factory.mktemp("trace")
    (folder / "trace.csv").write_text(TRACE)
    return polarlab.simulate("polarfly", q=3, trace=folder / "trace.csv", out=folder / "one")


def test_two_ranks_of_a_ring_take_the_ideal_time_and_more_take_longer(ring, tmp_path):
    two = polarlab.simulate("polarfly", out=tmp_path / "two", ranks=2, slices=1, **RING).summary.collective
    assert 1 <= two.slowdown < 1.01
    assert two.bus_bandwidth == two.algorithm_bandwidth
    assert 0.95 < two.bus_bandwidth <= 1
    all_ranks = ring.summary.collective
    assert 1 < all_ranks.slowdown < 3
    assert all_ranks.ideal_cycles == max(all_ranks.ideal_path_cycles, all_ranks.ideal_link_cycles)


def test_the_summary_has_the_keys_of_a_run_in_cycles(ring):
    collective = ring.summary.collective
    assert (collective.name, collective.algorithm, collective.ranks) == ("allreduce", "ring", 13)
    assert [size.message_bytes for size in collective.sizes] == [4096, 65536]
    assert collective.message_bytes == 65536
    assert collective.iterations == 2
    # Every rank sends 2 (n - 1) parts of n, in packets of 128 bytes.
    parts = [-(-(65536 // 4 // 2) // 13) * 4]
    assert collective.ideal_link_cycles == pytest.approx(2 * 2 * 12 * -(-parts[0] // 128) * 4, rel=0.05)
    assert collective.algorithm_bandwidth == pytest.approx(2048 / collective.completion_cycles, abs=1e-6)
    assert collective.bus_bandwidth == pytest.approx(collective.algorithm_bandwidth * 24 / 13, rel=1e-4)
    summary = ring.summary
    assert (summary.load, summary.arrivals, summary.stable, summary.predicted) == (None, None, None, None)
    assert summary.packets.sent == summary.packets.received == summary.packets.arrived
    assert summary.measured_cycles == summary.cycles
    assert ring.manifest.traffic.flit_bytes == 32
    assert ring.manifest.traffic.slices == 2


def test_the_tables_are_those_of_the_summary(ring):
    iterations = rows(ring.folder, "iterations.csv")
    assert [(row["message_bytes"], row["iteration"]) for row in iterations] == [
        ("4096", "0"), ("4096", "1"), ("65536", "0"), ("65536", "1"),
    ]  # fmt: skip
    largest = [int(row["completion_cycles"]) for row in iterations[2:]]
    assert sum(largest) / 2 == ring.summary.collective.completion_cycles
    starts = [int(row["start_cycle"]) for row in iterations]
    assert starts == sorted(starts)
    ranks = rows(ring.folder, "rank_cycles.csv")
    assert len(ranks) == 4 * 13
    of_last = [row for row in ranks if (row["message_bytes"], row["iteration"]) == ("65536", "1")]
    assert [row["host"] for row in of_last] == [f"h{router}_1" for router in range(1, 14)]
    assert max(int(row["finished_cycles"]) for row in of_last) == largest[1]


def test_a_trace_has_the_times_of_its_messages(trace):
    found = rows(trace.folder, "messages.csv")
    assert [row["source"] for row in found] == ["h1_1", "h2_1", "h3_1"]
    assert [int(row["time_cycles"]) for row in found] == [0, 10, 5000]
    assert found[2]["slowdown"] == "1.0"
    assert all(int(row["message_cycles"]) >= int(row["ideal_cycles"]) for row in found)
    summary = trace.summary.trace
    assert (summary.messages, summary.completed, summary.bytes) == (3, 3, 104196)
    assert summary.completion_cycles == 5000 + int(found[2]["message_cycles"]) == summary.ideal_cycles
    assert summary.slowdown.max == max(float(row["slowdown"]) for row in found)
    assert trace.summary.pattern == "trace"


@pytest.mark.parametrize("name", ["ring", "trace"])
def test_an_application_is_simulated_again(name, request, tmp_path):
    results = request.getfixturevalue(name)
    assert "completion_cycles=" in repr(results)
    again = polarlab.simulate(again=results, out=tmp_path / "again").summary
    first = results.summary
    assert replace(again, seconds=first.seconds, bringup_s=first.bringup_s) == first


def test_a_report_has_completion_and_its_figure(trace, tmp_path):
    text = trace.report(tmp_path / "page.html").read_text()
    assert "completion_cycles" in text
    assert 'alt="one completion"' in text
    assert list(trace.plot("completion")) == ["completion"]


def test_applications_are_compared(ring, tmp_path):
    other = polarlab.simulate(again=ring, pattern="allreduce:rabenseifner", out=tmp_path / "other")
    comparison = polarlab.compare(ring, other)
    assert comparison.differing["pattern"] == ["allreduce:ring", "allreduce:rabenseifner"]
    assert comparison.results["completion_cycles"][0] == ring.summary.collective.completion_cycles
    assert comparison.results["slowdown"][1] == other.summary.collective.slowdown
    comparison.draw(tmp_path / "both.png")


def test_a_motif_computes_and_may_be_placed_at_random(tmp_path):
    options = {"pattern": "sweep3d:grid=3x4,blocks=2", "message_bytes": 1024, "q": 3}
    one = polarlab.simulate("polarfly", out=tmp_path / "one", **options)
    collective = one.summary.collective
    assert (collective.name, collective.algorithm, collective.ranks) == ("sweep3d", "3x4", 12)
    assert collective.bus_bandwidth is None
    slow = polarlab.simulate(again=one, out=tmp_path / "slow", compute_cycles=1000).summary.collective
    assert slow.ideal_path_cycles - collective.ideal_path_cycles >= 8 * 2 * 1000
    other = polarlab.simulate(again=one, out=tmp_path / "other", placement="random")
    hosts = [row["host"] for row in rows(other.folder, "rank_cycles.csv")]
    assert len(set(hosts)) == 12
    assert hosts != [row["host"] for row in rows(one.folder, "rank_cycles.csv")]


def test_an_adaptive_routing_detours_around_the_messages_of_others(tmp_path):
    options = {"q": 5, "hosts": 2, "pattern": "halo2d", "message_bytes": "16KiB"}
    minimal = polarlab.simulate("polarfly", out=tmp_path / "min", **options).summary
    adaptive = polarlab.simulate("polarfly", routing="ugal-pf", out=tmp_path / "pf", **options).summary
    assert minimal.detoured == 0 < adaptive.detoured
    assert adaptive.collective.completion_cycles < minimal.collective.completion_cycles


def test_an_interrupted_application_keeps_its_iterations(tmp_path):
    def interrupt(event):
        if isinstance(event, SimulationProgress) and event.cycles > 3000:
            raise KeyboardInterrupt

    out = tmp_path / "interrupted"
    with pytest.raises(KeyboardInterrupt):
        polarlab.simulate("polarfly", out=out, progress=Unthrottled(interrupt), **RING)
    kept = polarlab.open_results(out)
    assert kept.summary.interrupted
    small, large = kept.summary.collective.sizes
    assert (small.iterations, large.iterations) == (2, 0)
    assert large.completion_cycles is None


def test_a_command_prints_the_same_as_it_writes(capsys, tmp_path):
    words = "simulate polarfly --q 3 --pattern halo2d:3x4 --message-bytes 4KiB --compute-cycles 50 --json"
    result = prints_json(capsys, f"{words} --out {tmp_path / 'one'}")
    assert result == json.loads((tmp_path / "one" / "summary.json").read_text())
    assert result["collective"]["algorithm"] == "3x4"
    assert (tmp_path / "one" / "completion.png").exists()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--pattern halo2d --flow-control drop", "halo2d --flow-control credit drop"),
        ("--pattern allreduce --load 0.5", "--load"),
        ("--pattern allreduce --cycles 500", "--cycles"),
        ("--pattern allreduce --warmup 500", "--warmup"),
        ("--pattern allreduce --arrivals poisson", "--arrivals"),
        ("--pattern allreduce --warmup-iterations 2", "--warmup-iterations"),
        ("--pattern allreduce --ranks 14", "ranks 2 13 14"),
        ("--pattern allreduce --ranks 1", "ranks 2 13 1"),
        ("--pattern allreduce --flit-bytes 0", "flit-bytes 1 65536 0"),
        ("--pattern allreduce --message-bytes 6", "multiple 4 6"),
        ("--pattern all-to-all --compute-cycles 5", "--compute-cycles all-to-all:pairwise"),
        ("--pattern allreduce --iterations 100000 --message-bytes 100MiB", "1,000,000,000 cycles"),
        ("--pattern halo2d:3x3 --ranks 12", "ranks 9 12"),
        ("--pattern halo2d:4x4", "ranks 2 13 16"),
        ("--pattern halo2d --slices 2", "slices 1 2"),
        ("--pattern halo2", "'halo2' 'halo2d'"),
        ("--ranks 4", "--ranks --pattern"),
        ("--trace none.csv", "none.csv"),
        ("--trace none.csv --pattern tornado", "--pattern"),
        ("--trace none.csv --ranks 3", "--ranks"),
    ],
)  # fmt: skip
def test_one_line_names_option_value_and_remedy(capsys, tmp_path, monkeypatch, words, named):
    monkeypatch.chdir(tmp_path)
    line = fails(capsys, f"simulate polarfly --q 3 {words}", Status.USAGE)
    assert not unnamed(line, named), line
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("run polarfly --q 3 --pattern halo2d", "'halo2d' `polarlab simulate`"),
        ("saturation polarfly --q 3 --pattern halo2d", "'halo2d'"),
        ("run polarfly --q 3 --pattern allreduce --compute-cycles 5", "--compute-cycles"),
        ("simulate polarfly --q 13 --hosts 20 --pattern all-to-all", "1,000,000 3660 --ranks"),
    ],
)
def test_what_other_commands_and_sizes_cannot(capsys, tmp_path, monkeypatch, words, named):
    monkeypatch.chdir(tmp_path)
    line = fails(capsys, words, Status.USAGE)
    assert not unnamed(line, named), line
    assert not list(tmp_path.iterdir())


def test_a_file_names_an_application(tmp_path):
    path = tmp_path / "halo.toml"
    path.write_text(
        'version = 1\nkind = "simulate"\n[topology]\nname = "polarfly"\nq = 3\n'
        '[traffic]\npattern = "halo3d"\n[collective]\nmessage-bytes = ["1KiB", "4KiB"]\ncompute-cycles = 10\n'
    )
    chosen = Experiment.from_toml(path).resolve().traffic
    assert (chosen.ranks, chosen.message_bytes, chosen.compute_cycles) == (8, (1024, 4096), 10)
    path.write_text(path.read_text().replace("halo3d", "halo3d:2x2"))
    with pytest.raises(UsageError, match=r"halo.toml: line 7, .*4x4x4"):
        Experiment.from_toml(path)

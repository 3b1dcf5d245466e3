"""Results in Python: frames, figures and pages of runs, sweeps and failovers; comparisons."""

import builtins
import sys
from dataclasses import replace

import pytest
from support.builders import records, result_folders

import polarlab
from experiments.doctor import features, installation
from experiments.doctor.findings import examine


@pytest.fixture
def run(tmp_path):
    return polarlab.open_results(result_folders.write_run(tmp_path / "run"))


@pytest.fixture
def replicated(tmp_path):
    return polarlab.open_results(result_folders.write_replications(tmp_path / "runs", (1, 2, 3), invalid=2))


@pytest.fixture
def sweep(tmp_path):
    folder = result_folders.write_sweep(tmp_path / "sweep", ("min", "ugal-pf"), ("tornado",))
    return polarlab.open_results(folder)


@pytest.fixture
def failover(tmp_path):
    return polarlab.open_results(result_folders.write_failover(tmp_path / "demo"))


def test_results_are_of_their_kinds(run, replicated, sweep, failover):
    kinds = [polarlab.Run, polarlab.Run, polarlab.Sweep, polarlab.Failover]
    assert [type(found) for found in (run, replicated, sweep, failover)] == kinds
    assert {type(one) for one in replicated.replications} == {polarlab.Run}


def test_a_run_shows_what_tells_most(run):
    assert repr(run).startswith("<Run ")
    for part in ("polarfly (q = 3), 2 hosts a router", "tornado at 0.5", "accepted=0.3", "valid=yes"):
        assert part in repr(run)
    assert "<td>tornado at 0.5</td>" in run._repr_html_()
    assert run.valid


@pytest.mark.parametrize(
    ("hosts", "words"), [(1, "the graph's hosts (18)"), (2, "2 times the graph's hosts (36)")]
)
def test_of_a_graph_with_hosts_of_its_own_a_run_shows_how_many_they_are(tmp_path, hosts, words):
    graph = {"name": "graph", "params": {"from": "own.graphml"}, "hosts": hosts, "endpoints": 18 * hosts}
    found = polarlab.open_results(result_folders.write_run(tmp_path / "run", records.summary(**graph)))
    assert f"graph (from = own.graphml), {words}" in repr(found)


def test_a_result_that_is_not_valid_says_why(tmp_path):
    summary = records.summary(fidelity=result_folders.SILENT)
    found = polarlab.open_results(result_folders.write_run(tmp_path / "run", summary))
    assert not found.valid
    assert "too little of the CPU was idle" in found._repr_html_()


def test_every_kind_shows_itself(replicated, sweep, failover):
    assert "valid=no" in repr(replicated)
    assert "points=6" in repr(sweep)
    assert "repaired_by=" in repr(failover)
    for found in (replicated, sweep, failover):
        assert found._repr_html_().startswith("<table>")


def test_figures_are_drawn_without_a_file(run, sweep, failover):
    before = sorted(run.folder.iterdir())
    assert set(run.plot()) == {"throughput", "latency", "links"}
    assert sorted(run.folder.iterdir()) == before
    assert list(run.plot("latency")) == ["latency"]
    assert list(sweep.plot()) == ["sweep"]
    assert list(failover.plot()) == ["failover"]


def test_links_are_drawn_on_the_graph_in_the_folder(tmp_path):
    graph = polarlab.from_networkx(polarlab.topology("polarfly", q=3).to_networkx())
    summary = records.summary(name="graph", params={"from": graph.file_name})
    folder = result_folders.write_run(tmp_path / "run", summary)
    without = polarlab.plot(folder)["links"]
    (folder / graph.file_name).write_text(graph.graphml)
    folder.rename(tmp_path / "moved")
    assert len(polarlab.plot(tmp_path / "moved")["links"].axes) > len(without.axes)


def test_figures_of_replications_have_their_folders(replicated):
    assert {"seed-1/throughput", "seed-3/links", "replications"} <= set(replicated.plot())


def test_figures_are_written_when_asked_for(run, tmp_path):
    assert {path.name for path in polarlab.plot(run.folder).save()} >= {"throughput.png", "throughput.svg"}
    (tmp_path / "own").mkdir()
    assert [path.parent for path in run.plot("links").save(tmp_path / "own")] == [tmp_path / "own"] * 2


def test_an_unknown_figure_is_refused_with_those_that_there_are(run):
    with pytest.raises(polarlab.ParameterError, match=r"throughput, latency, links, .*'load'"):
        run.plot("load")


def test_notebooks_show_figures(run):
    one, several = run.plot("latency")._repr_mimebundle_(), run.plot()._repr_mimebundle_()
    assert one["text/plain"] == "<figures: latency>"
    assert set(one) == {"text/plain", "image/png"}
    assert several["text/html"].count("<img ") == 3


def test_drawing_leaves_the_user_s_own_backend_alone(run):
    import matplotlib

    before = matplotlib.get_backend()
    run.plot()
    assert matplotlib.get_backend() == before


def test_a_page_is_written(run, tmp_path):
    assert run.report() == run.folder / "report.html"
    assert polarlab.report(run, tmp_path / "page.html").read_text().startswith("<!")


def test_comparison_of_runs(run, tmp_path):
    other = records.summary(routing="ugal-pf", accepted=0.48)
    folder = result_folders.write_run(tmp_path / "other", other)
    found = polarlab.compare(run, folder)
    assert found.results["accepted"] == [0.3, 0.48]
    assert found.runs == ("run", "other")
    assert repr(found).startswith("all: ")
    assert "name polarfly" in repr(found).splitlines()[0]
    assert "accepted" in repr(found)
    assert "<td>0.48</td>" in found._repr_html_()
    assert list(found.plot()) == ["comparison"]


def test_comparison_of_sweeps_has_their_points(sweep, tmp_path):
    folder = result_folders.write_sweep(tmp_path / "other", ("min",), ("tornado",))
    found = polarlab.compare(sweep, folder)
    assert {"point", "value", "sweep", "other"} == set(found.rows()[0])
    lines = repr(replace(found, differing={"queue_packets": [8, 32]})).splitlines()
    assert ["queue_packets", "8", "32"] in map(str.split, lines)


def test_results_of_two_kinds_are_not_compared(run, sweep):
    with pytest.raises(polarlab.ParameterError, match="same kind"):
        polarlab.compare(run, sweep)


@pytest.mark.parametrize("provisioned", [True, False], ids=["sources", "package"])
def test_frames_without_pandas_name_the_command_that_installs_it(run, monkeypatch, provisioned):
    real = builtins.__import__

    def refuse(name, *others):
        if name == "pandas":
            raise ImportError(name)
        return real(name, *others)

    monkeypatch.setattr(features, "is_provisioned", lambda: provisioned)
    monkeypatch.setattr(installation, "is_provisioned", lambda: provisioned)
    monkeypatch.setattr(features, "is_installed", lambda _name: False)
    (advised,) = (one for one in features.examine_features(examine()) if one.name == "data frames")
    (remedy,) = advised.remedies()
    assert ("provision.sh docs" if provisioned else "-m pip install pandas") in remedy
    monkeypatch.setattr(builtins, "__import__", refuse)
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    for frame in (run.to_frame, polarlab.families().to_frame):
        with pytest.raises(polarlab.MachineError) as refused:
            frame()
        assert f"`{remedy}` installs it" in str(refused.value)


class TestFrames:
    """Frames of pandas, where it is installed."""

    @pytest.fixture(autouse=True)
    def pandas(self):
        return pytest.importorskip("pandas")

    def test_of_a_run(self, run):
        frame = run.to_frame()
        assert frame.loc[0, "accepted"] == 0.3
        assert frame.loc[0, "latency_ms.p99"] == 200.0
        assert run.tables == ("hops", "latency", "link_loads", "pairs", "throughput")
        assert list(run.to_frame("hops").columns) == ["hops", "packets"]

    def test_of_an_unknown_table(self, run):
        with pytest.raises(polarlab.ParameterError, match=r"^table .* hops, .*'load'"):
            run.to_frame("load")

    def test_of_replications(self, replicated):
        assert list(replicated.to_frame()["seed"]) == [1, 2, 3]
        assert list(replicated.to_frame()["fidelity.valid"]) == [True, False, True]
        assert set(replicated.to_frame("hops")["seed"]) == {1, 2, 3}

    def test_of_a_sweep(self, sweep):
        frame = sweep.to_frame()
        assert len(frame) == 6
        assert set(frame["routing"]) == {"min", "ugal-pf"}
        assert frame["accepted"].dtype == float
        assert frame["valid"].dtype == bool

    @pytest.mark.parametrize("words", [("true", "false"), ("yes", "no")])
    def test_of_the_file_of_a_sweep(self, pandas, sweep, words):
        file = sweep.folder / "points.csv"
        file.write_text(
            file.read_text().replace(",true,", f",{words[0]},").replace(",false,", f",{words[1]},")
        )
        assert sweep.to_frame("points")["valid"].dtype == bool
        if words[0] == "true":
            assert pandas.read_csv(file)["valid"].dtype == bool

    def test_of_a_failover(self, failover):
        assert failover.to_frame().loc[0, "packets_lost"] == failover.summary.packets_lost
        assert "stream" in failover.to_frame("probes").columns

    def test_of_listings_and_predictions(self):
        assert list(polarlab.families().to_frame()["name"]) == list(polarlab.families())
        plan = polarlab.plan(polarlab.topology("polarfly", q=2))
        assert len(polarlab.predict(plan).to_frame()) == 2 * plan.topology.links

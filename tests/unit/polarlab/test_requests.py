"""Requests of Python's functions: subjects of all kinds, results measured again, and graphs of networkx."""

import json
import shutil
from pathlib import Path

import networkx as nx
import pytest
from support.builders import records, result_folders
from support.builders.port_tables import with_shuffled_ports
from support.fixtures.documents import ROOT

import polarlab
from experiments.codec import plain
from experiments.spec.experiment import Experiment
from experiments.spec.files.experiment_file import kept_content
from polarlab.api.arguments import keywords_in_errors
from polarlab.api.requests import request_of, rerun_of, traffic_request
from topology.errors import UsageError

FIRST = ROOT / "examples" / "first.toml"


@pytest.fixture
def ring():
    """A ring of named nodes with clusters, and with hosts of their own."""
    graph = nx.relabel_nodes(nx.cycle_graph(6), dict(enumerate("fedcba")))
    graph.nodes["e"]["hosts"] = 3
    graph.nodes["d"]["hosts"] = graph.nodes["a"]["hosts"] = 0
    for place, node in enumerate(graph):
        graph.nodes[node]["group"] = place // 3
    return polarlab.from_networkx(graph)


def folder_of(folder, experiment, graph=None):
    """Writes the manifest of an experiment into a folder of results, with its graph if there is one."""
    folder.mkdir(parents=True)
    manifest = plain(records.run_manifest(experiment=kept_content(experiment)))
    (folder / "manifest.json").write_text(json.dumps(manifest))
    if graph is not None:
        (folder / graph.file_name).write_text(graph.graphml)
    return folder


def test_ports_that_results_could_not_name_are_refused():
    topology = with_shuffled_ports(polarlab.topology("polarfly", q=2), 1)
    with pytest.raises(UsageError, match="with_ports"):
        request_of("run", topology, {})
    assert polarlab.prove(polarlab.plan(topology)).ok


# ---- results that are measured again ----


def test_results_are_measured_again_by_object_by_folder_and_by_option(tmp_path):
    wanted = request_of("run", "polarfly", {"q": 2, "load": 0.4, "seed": 7})
    folder = folder_of(tmp_path / "first", wanted)
    ways = [
        request_of("run", polarlab.Run(folder), {}),
        request_of("run", str(folder), {}),
        request_of("run", folder, {}),
        request_of("run", None, {}, again=str(folder)),
        request_of("run", None, {}, again=polarlab.Run(folder)),
    ]
    assert [one.values for one in ways] == [wanted.complete.values] * len(ways)
    changed = request_of("run", None, {"seed": 8}, again=folder, out=tmp_path / "second")
    assert (changed.values["seed"], changed.values["load"], changed.out) == (8, 0.4, tmp_path / "second")


def test_a_folder_in_the_working_directory_is_one_of_results_unless_a_family_has_its_name(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for name in ("first", "polarfly"):
        folder_of(Path(name), request_of("run", "polarfly", {"q": 2}))
    assert request_of("run", "first", {}).values["q"] == 2
    assert "q" not in request_of("run", "polarfly", {}).values


def test_a_sweep_that_is_measured_again_has_a_folder_of_its_own(tmp_path):
    experiment = request_of("sweep", "polarfly", {"q": 2, "loads": [0.2], "out": tmp_path / "sweep"})
    folder = folder_of(tmp_path / "sweep", experiment)
    out = request_of("sweep", folder, {}).out
    assert out is not None
    assert (out.parent, out.name.startswith("sweep-again-")) == (Path("results"), True)
    assert request_of("sweep", folder, {}, out="elsewhere").out == Path("elsewhere")


@pytest.mark.parametrize(
    ("subject", "again", "text"),
    [
        ("{}/nothing", None, "nothing does not contain"),
        (None, "{}/nothing", "nothing does not contain"),
        ("polarfly", "{}/run", "leave 'polarfly' out"),
        (None, "{}/sweep", "must be a run, got a sweep; use polarlab.sweep"),
        ("{}/sweep", None, "must be a run, got a sweep; use polarlab.sweep"),
        (None, None, "topology must be given"),
        ("polarfl", None, "did you mean 'polarfly'"),
    ],
)
def test_what_cannot_be_measured_is_told_in_one_line(tmp_path, subject, again, text):
    result_folders.write_run(tmp_path / "run")
    folder_of(tmp_path / "sweep", request_of("sweep", "polarfly", {"q": 2}))
    subject, again = (word and word.format(tmp_path) for word in (subject, again))
    with pytest.raises(polarlab.UsageError, match=text) as refused:
        request_of("run", subject, {}, again=again)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("function", [polarlab.run, polarlab.sweep, polarlab.failover])
def test_again_is_an_option_of_every_experiment(function, tmp_path):
    with pytest.raises(polarlab.UsageError, match="nothing does not"):
        function(again=tmp_path / "nothing")


# ---- fabrics of files of other kinds ----


@pytest.mark.parametrize("subject", [str(FIRST), FIRST, Experiment.from_toml(FIRST)])
def test_a_fabric_takes_from_the_file_of_a_run_what_it_knows(subject):
    request = request_of("up", subject, {"hosts": 2})
    assert request.kind == "up"
    assert (request.family, request.values["hosts"], "load" in request.values) == ("polarfly", 2, False)
    assert request.resolve().fabric.hosts == 2


def test_a_fabric_of_a_sweep_needs_one_routing_as_the_command_does():
    file = ROOT / "examples" / "tornado-sweep.toml"
    with pytest.raises(polarlab.UsageError, match=r"routings.* got min,ugal-pf"):
        request_of("up", file, {})
    assert request_of("up", file, {"routing": "ugal-pf"}).values["routing"] == "ugal-pf"


def test_a_fabric_of_results_has_their_graph_and_not_their_folder(ring, tmp_path):
    folder = folder_of(tmp_path / "first", request_of("run", ring, {"hosts": 2}), ring)
    request = request_of("up", folder, {"link_rate": "5Mbit"})
    assert (request.graph.graphml, request.out) == (ring.graphml, None)
    assert (request.values["hosts"], request.values["link-rate"]) == (2, "5Mbit")


def test_a_run_does_not_take_the_file_of_a_sweep():
    with pytest.raises(polarlab.UsageError, match=r"got a sweep; .* polarlab\.sweep"):
        request_of("run", ROOT / "examples" / "tornado-sweep.toml", {})


# ---- graphs of networkx ----


@pytest.mark.parametrize("kind", ["run", "sweep", "failover"])
def test_a_graph_is_named_by_its_file_in_the_folder(ring, kind):
    request = request_of(kind, ring, {"hosts": 2})
    specified = request.resolve()
    assert specified.fabric.topology is ring
    assert specified.fabric.params == {"from": ring.file_name}
    assert specified.fabric.experiment["topology"] == {"name": "graph", "from": ring.file_name}
    assert Path(ring.file_name).stem in request.folder(specified).name


def test_a_graph_comes_back_from_a_folder_that_was_moved(ring, tmp_path):
    wanted = request_of("run", ring, {"load": 0.4})
    folder_of(tmp_path / "first", wanted, ring)
    shutil.move(tmp_path / "first", tmp_path / "moved")
    again = rerun_of(tmp_path / "moved")
    assert again.graph.graphml == ring.graphml
    assert (again.graph.labels, again.graph.clusters()) == (ring.labels, ring.clusters())
    # Results of it are the same, and hold the graph, too.
    assert again.params == wanted.params
    assert kept_content(again) == kept_content(wanted)
    # As a file of its own, it names the graph where it is.
    (tmp_path / "again.toml").write_text(again.to_toml())
    file = Experiment.from_toml(tmp_path / "again.toml")
    assert file.topology.routers == ring.routers
    changed = request_of("run", tmp_path / "moved", {"hosts": 2})
    assert changed.resolve().fabric.topology.graphml == ring.graphml
    third = folder_of(tmp_path / "third", again, again.graph)
    assert rerun_of(third).graph.graphml == ring.graphml


def test_another_graph_takes_the_place_of_that_in_a_folder(ring, tmp_path):
    folder = folder_of(tmp_path / "first", request_of("run", ring, {}), ring)
    other = request_of("run", folder, {"from_": str(ROOT / "examples" / "torus-3x3.edges")})
    assert (other.graph, other.topology.routers) == (None, 9)


@pytest.mark.parametrize("content", [None, "", "<graphml/>", "<graphml", "\0"])
def test_a_graph_that_is_gone_or_damaged_is_told_in_one_line(ring, tmp_path, content):
    folder = folder_of(tmp_path / "first", request_of("run", ring, {}))
    if content is not None:
        (folder / ring.file_name).write_text(content)
    with pytest.raises(polarlab.ParameterError, match=ring.file_name) as refused:
        rerun_of(folder)
    assert "\n" not in str(refused.value)


def test_traffic_on_a_fabric_is_on_its_graph(ring):
    fabric = request_of("up", ring, {"hosts": 2, "out": "session"})
    run = traffic_request(fabric, {"load": 0.5})
    assert (run.kind, run.out, run.resolve().fabric.topology) == ("run", None, ring)


def test_the_patterns_of_a_graph_know_its_clusters(ring):
    """They are those of the graph, also where its file would not tell them."""
    assert request_of("run", ring, {"pattern": "adversarial"}).resolve().traffic.pattern == "adversarial"


@pytest.mark.parametrize("kind", ["up", "run"])
def test_a_request_of_another_command_becomes_one_of_its_kind(kind):
    request = request_of(kind, Experiment("verify", {"topology": "polarfly", "q": 3, "hosts": 2}), {})
    assert (request.kind, request.values["hosts"]) == (kind, 2)


# ---- errors by the names of Python ----


@pytest.mark.parametrize(
    ("kind", "options", "text"),
    [
        ("run", {"loadd": 0.3}, "run has no argument 'loadd'; did you mean 'load'?"),
        ("run", {"link_rat": "1Mbit"}, "run has no argument 'link_rat'; did you mean 'link_rate'?"),
        ("up", {"hots": 1}, "Fabric has no argument 'hots'; did you mean 'hosts'?"),
        ("run", {"loads": 0.3}, "loads is not an argument of run, but of sweep"),
        ("run", {"from_": "x.edges"}, "parameter of polarfly must be one of q, expand, got from_"),
        ("run", {"frame_bytes": 0}, "frame_bytes must be 1 or more bytes, got 0"),
        ("run", {"pattern": "allreduce", "load": 0.3}, "load does not apply to collectives "),
        (
            "run",
            {"exec_timeout": 3},
            "exec_timeout needs exec or exec_file; add it, or leave",
        ),
    ],
)
def test_errors_name_arguments_as_python_has_them(kind, options, text):
    with pytest.raises(polarlab.UsageError) as refused, keywords_in_errors("polarfly"):
        request_of(kind, "polarfly", {"q": 2, **options})
    assert str(refused.value).startswith(text)
    assert "--" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "params", "text"),
    [
        ("polarfly", {}, 'polarfly needs q, as in: "polarfly", q=7'),
        (
            "polarfly",
            {"p": 3},
            'parameter of polarfly must be one of q, expand, got p; as in: "polarfly", q=7',
        ),
        ("graph", {}, 'graph needs from_, as in: "graph", from_="examples/torus-3x3.edges"'),
    ],
)
def test_errors_of_topologies_show_a_call(name, params, text):
    with pytest.raises(polarlab.ParameterError) as refused:
        polarlab.topology(name, **params)
    assert str(refused.value) == text


def test_a_folder_that_is_not_empty_asks_for_another_argument():
    with pytest.raises(polarlab.ParameterError, match=r"; give a new out$"), keywords_in_errors(None):
        raise polarlab.ParameterError("results/x is not empty; give a new --out")


def test_errors_of_a_command_line_keep_its_options():
    experiment = request_of("run", "polarfly", {"q": 2})
    with pytest.raises(polarlab.ParameterError, match="--out"), keywords_in_errors(experiment):
        raise polarlab.ParameterError("results/x is not empty; give a new --out")

"""Plug-ins: files of `--plugin`, `polarlab.register`, installed packages; and what results keep of them."""

import ast
import base64
import json
import os
import pickle
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from support.fixtures.command_line import fails, prints_json, unnamed
from support.fixtures.documents import ROOT
from support.fixtures.foreign_folders import AS_ROOT, give, public_folder
from support.fixtures.terminal import Terminal

import polarlab
from experiments.events.base import ignore
from experiments.simulation.fabric import prepare_fabric
from experiments.spec.experiment import Experiment
from polarlab import extend
from polarlab.cli import main as entry
from topology.files.plugin_files import handed_over, package_digest, take_over

pytestmark = pytest.mark.usefixtures("own_names")
PACKAGE = ROOT / "examples" / "plugin"
MIRROR = """
from polarlab.extend import PatternDefinition, register

def mirror(topology, routers, generator):
    return routers[::-1]

register("mirrored", PatternDefinition("routers", "router i to N - 1 - i", "-", mirror))
"""
# All fabrics are ER_2 or a ring of 8, so that graph, routing and pattern are those of one file.
DETOUR = """
import numpy as np
from polarlab.extend import *

SHARE = Parameter(name="neighbours", type=int, help="most neighbours", least=1, most=8, default=8)

class Ring(SearchedTopology):
    name = "ring"
    def __init__(self, size):
        self.params = {"size": size}
        ends = np.sort([(one, (one + 1) % size) for one in range(size)], axis=1)
        super().__init__(adjacency_from_links(size, ends))

def plan(topology, hosts, *, neighbours):
    def bound(distances):
        return np.where(distances == 0, 0, distances + 2).astype(np.int16)
    def table(view, reroute):
        chosen = evenly_spaced(topology.neighbours(view.router).tolist(), neighbours, view.router)
        buckets = tuple(detour_bucket(reroute, neighbour) for neighbour in chosen)
        group = Group(group_number(GroupRole.OWN), GroupKind.SELECT, buckets)
        rule = Rule(Table.SOURCE, PRIORITY_ROUTER, TO_ANY_HOST, (ToGroup(group.number),))
        return SourceTable((rule,), (group,))
    return compile_plan(topology, hosts, "detour", bound, table)

SIZE = Parameter(name="size", type=int, help="number of routers", required=True, least=3, most=100)
register("ring", Family(Ring, (SIZE,), "ring of routers", "ring --size 8", "classic"))
register("detour", Routing(plan, "by a random neighbour", "-", plan_parameters=(SHARE,)))
"""


@pytest.fixture
def written(tmp_path):
    """Writes a plug-in's file and returns its path."""

    def write(text, name="mine.py"):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def test_the_names_of_a_file_are_as_those_of_polarlab(written, capsys):
    file = written(DETOUR)
    proven = prints_json(
        capsys, f"verify ring --size 8 --routing detour --failures links --plugin={file} --json"
    )
    assert proven["ok"]
    assert proven["delivered"] == 8 * 7 * 9
    other = written(MIRROR, "other.py")
    line = f"predict ring --size 8 --pattern mirrored --load 0.5 --plugin {file} --plugin {other} --json"
    assert prints_json(capsys, line)["pattern"] == "mirrored"
    listed = prints_json(capsys, f"routings --plugin {file} --json")["routings"]
    assert listed[-1]["routing"] == "detour"
    assert prints_json(capsys, "topology ring --size 8 --json")["routers"] == 8


def test_a_definition_of_python_is_known_to_this_process(tmp_path):
    polarlab.register(
        "opposite", extend.PatternDefinition("routers", "half way", "-", lambda _t, r, _g: np.roll(r, 4))
    )
    assert "opposite" in polarlab.patterns()
    plan = polarlab.plan(polarlab.topology("hypercube", dimension=3), "min")
    assert polarlab.predict(plan, "opposite", 0.5).pattern == "opposite"
    with pytest.raises(polarlab.UsageError, match="opposite") as refused, handed_over("opposite"):
        pass
    assert "register" in str(refused.value)


def test_a_file_takes_the_place_of_its_former_content(written):
    polarlab.register(written(MIRROR))
    polarlab.register(written(MIRROR.replace("mirrored", "turned")))
    assert "turned" in polarlab.patterns()
    assert "mirrored" not in polarlab.patterns()


WRONG = {
    "name of PolarLab": (MIRROR.replace("mirrored", "tornado"), "tornado pattern PolarLab"),
    "name of a routing": (MIRROR.replace("mirrored", "min"), "min routing PolarLab"),
    "form of a name": (MIRROR.replace("mirrored", "Mirrored"), "Mirrored lower-case"),
    "failure": ("import math\n\nmath.nothing\n", "line 3 AttributeError"),
    "no Python": ("x = (\n", "line 1 SyntaxError"),
    "module beside it": ("import beside_it\n", "line 1 ModuleNotFoundError"),
    "end": ("raise SystemExit(0)\n", "line 1 SystemExit"),
    "nothing": ("x = 1\n", "register"),
    "something else": ("from polarlab.extend import register\nregister('mine', 3)\n", "mine Routing 3"),
    "unknown parameter": (DETOUR.replace("*, neighbours", "*, n"), "detour neighbours"),
    "arguments": (MIRROR.replace("routers, generator", "routers"), "mirror mirrored generator"),
    "default": (DETOUR.replace("default=8", "default=9"), "detour neighbours 8 9"),
    "type": (DETOUR.replace('type=int, help="most', 'type=list, help="most'), "detour neighbours bool list"),
    "packet law": (DETOUR.replace('"-", plan', '"-", packet_law=min, plan'), "packet_law detour PacketLaw"),
    "packet rule": (DETOUR.replace('"-", plan', '"-", packet_law=PacketLaw("min"), plan'), "PacketRule min"),
    "shared": (
        DETOUR.replace('"-", plan', '"-", packet_law=PacketLaw(PacketRule.PRODUCT, ("size",)), plan'),
        "detour packet_law size",
    ),
    "group": (DETOUR.replace('"classic"', '"mine"'), "ring classic mine"),
    "name of the class": (DETOUR.replace('name = "ring"', 'name = "circle"'), "ring circle"),
}


@pytest.mark.parametrize(("text", "words"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_is_one_line(text, words, written, capsys):
    file = written(text)
    line = fails(capsys, ["verify", "polarfly", "--q", "2", "--plugin", file], 2)
    assert unnamed(line, words) == []
    assert file in line
    assert not {"mirrored", "ring", "detour"} & {
        *polarlab.patterns(),
        *polarlab.families(),
        *polarlab.routings(),
    }


KINDS = """
import numpy as np
from polarlab.extend import *

class Ring(SearchedTopology):
    name = "ring"
    def __init__(self, size):
        make()
        self.params = {"size": size}
        ends = np.sort([(one, (one + 1) % size) for one in range(size)], axis=1)
        super().__init__(adjacency_from_links(size, ends))
    def host_counts(self, hosts_per_router):
        counts()
        return super().host_counts(hosts_per_router)

def make(): pass
def counts(): pass
def members(): return [Member({"size": 5}, 2, 5, 1)]
SIZE = Parameter(name="size", type=int, help="routers", required=True, least=3, most=100)
register("ring", Family(Ring, (SIZE,), "ring", "ring --size 8", "classic", members=members))

def plan(topology, hosts): return compile_plan(topology, hosts, "mine", bound, table, after, *REROUTE)
REROUTE = ()
def bound(distances): return distances + 2
def after(view, reroute): return AfterTagTable()
def table(view, reroute):
    minimal = Bucket((ToGroup(reroute.untagged.group_toward[view.others()[0]]),))
    groups, choices = [], [0] * view.topology.routers
    for other in view.others():
        choices[other] = group_number(GroupRole.OWN, other)
        ways = [Bucket((ToGroup(reroute.untagged.group_toward[other]),))]
        ways += [detour_bucket(reroute, one) for one, _port in view.neighbour_ports() if one != other][:1]
        ports = tuple((1 + index,) for index in range(len(ways)))
        groups.append(Group(choices[other], GroupKind.SELECT, (ways[0],) * 4, tuple(ways), ports=ports))
    return SourceTable(groups=tuple(groups), choices=tuple(choices))
def law(datapath_id): return moves
def moves(group, ports): return Change.NONE
register("mine", Routing(plan, "mine", "-", law_maker=law, packet_law=PacketLaw(PacketRule.THRESHOLD)))

def mapped(topology, routers, generator): return np.roll(routers, 1)
def bits(number, bits): return number ^ 1
def hot(hosts): return HotSpots((0,), 0.5)
register("rolled", PatternDefinition("routers", "rolled", "-", router_map=mapped))
register("flipped", PatternDefinition("endpoints", "flipped", "-", bit_map=bits))
register("hot", PatternDefinition("packets", "hot", "-", hot_spots=hot))

def sends(ranks, elements):
    whole = Span(0, elements)
    return [(Step((r + 1) % ranks, whole, (r - 1) % ranks, whole),) for r in range(ranks)]
def factor(ranks): return 1.0
class Turn(AllReduce):
    algorithms = {"once": lambda ranks, elements: sends(ranks, elements)}
    def bus_factor(self, ranks): return factor(ranks)
register("turn", Turn())
def steps(grid, elements, times): return sends(grid[0], elements)
TIMES = Parameter(name="times", type=int, help="times", least=1, most=9, default=1)
register("beat", Motif(1, steps, TIMES, 1, "beats", "-"))
"""
VERIFY = "verify ring --size 5 --routing mine"
SIMULATE = "simulate ring --size 5 --cycles 200 --warmup 100 --load 0.2"
PREDICT = "predict ring --size 5 --load 0.1 --pattern"
# The function that fails, and a command that calls it.
CALLED = {
    "make": "topology ring --size 5",
    "counts": "verify ring --size 5 --routing min",
    "members": "families --radix 3 --group classic",
    "plan": VERIFY,
    "bound": VERIFY,
    "after": VERIFY,
    "table": VERIFY,
    "law": f"{SIMULATE} --routing mine --decision buckets",
    "moves": f"{SIMULATE} --routing mine --decision buckets",
    "mapped": f"{PREDICT} rolled",
    "bits": f"{PREDICT} flipped",
    "hot": f"{PREDICT} hot",
    "sends": "simulate ring --size 5 --pattern turn",
    "factor": "simulate ring --size 5 --pattern turn",
    "steps": "simulate ring --size 5 --pattern beat",
}


def changed(function, body):
    """Returns the plug-in of all kinds with another body of a function, and the line of it."""
    head = re.search(rf"(?m)^def {function}(\(.*?\):)", KINDS)
    text = KINDS.replace(head[0], f"def {function}{head[1]} {body}\ndef former_{head[0][4:]}")
    return text, text[: text.index(head[0])].count("\n") + 1


@pytest.mark.usefixtures("compiled_kernels")
@pytest.mark.parametrize(("function", "command"), CALLED.items(), ids=CALLED)
def test_a_function_that_fails_whenever_it_runs_is_one_line_with_its_line(
    function, command, written, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    text, line = changed(function, "return [].nothing")
    error = fails(capsys, [*command.split(), "--plugin", written(text)], 2)
    assert f"plug-in mine.py fails in line {line}: AttributeError: " in error


@pytest.mark.usefixtures("compiled_kernels")
@pytest.mark.parametrize("function", [one for one in CALLED if one not in ("make", "counts")])
def test_a_function_that_returns_something_else_is_named(function, written, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, line = changed(function, "return [None]" if function == "members" else "return None")
    error = fails(capsys, [*CALLED[function].split(), "--plugin", written(text)], 2)
    outer = {"sends": "lambda ranks", "factor": "def bus_factor"}
    if function in outer:  # which PolarLab calls
        line = text[: text.index(outer[function])].count("\n") + 1
    assert unnamed(error, f"mine.py line {line} None") == []
    assert "must return" in error


def test_what_makes_reroutes_is_named_when_it_fails_or_returns_something_else(written, capsys):
    for call, words in (("[].nothing", "AttributeError"), ("None", "FastReroute None")):
        file = written(KINDS.replace("REROUTE = ()", f"REROUTE = (lambda view: {call},)"))
        line = KINDS[: KINDS.index("REROUTE = ()")].count("\n") + 1
        assert (
            unnamed(fails(capsys, [*VERIFY.split(), "--plugin", file], 2), f"mine.py line {line} {words}")
            == []
        )


@pytest.mark.usefixtures("compiled_kernels")
def test_a_function_that_fails_in_another_process_is_one_line(written, tmp_path, capsys):
    text, line = changed("moves", "return [].nothing")
    asked = "sweep ring --size 5 --engine simulation --routings mine --decision buckets --cycles 200"
    for workers in (1, 2):
        more = f"--patterns uniform --loads 0.2 --workers {workers} --out {tmp_path / str(workers)}"
        error = fails(capsys, [*asked.split(), *more.split(), "--plugin", written(text)], 2)
        assert f"plug-in mine.py fails in line {line}: AttributeError: " in error


def test_ends_that_functions_ask_for_and_errors_of_users_are_told_apart(written, tmp_path, capsys):
    text, line = changed("mapped", "raise SystemExit(0)")
    error = fails(capsys, [*f"{PREDICT} rolled".split(), "--plugin", written(text)], 2)
    assert f"line {line}: SystemExit" in error
    text, _ = changed("mapped", "raise ParameterError('rolled must be rolled')")
    error = fails(capsys, [*f"{PREDICT} rolled".split(), "--plugin", written(text)], 2)
    assert error == "polarlab: rolled must be rolled\n"
    polarlab.register(written(changed("mapped", "return [].nothing")[0]))
    with pytest.raises(polarlab.UsageError, match=r"mine\.py.* line \d+"):
        polarlab.simulate("ring", size=5, pattern="rolled", load=0.1, out=tmp_path / "out")


def test_a_file_that_is_not_there_or_not_python_is_one_line(tmp_path, capsys):
    assert "nowhere.py" in fails(capsys, f"routings --plugin {tmp_path}/nowhere.py", 2)
    assert "my-package" in fails(capsys, "routings --plugin my-package", 2)


def test_a_file_that_is_not_utf_8_is_one_line(tmp_path, capsys):
    """Python would take the comments of these for code, by the encodings that they declare."""
    said, code = tmp_path / "said", "\nopen({!r}, 'w')\n".format(str(tmp_path / "said"))
    hidden = base64.b64encode(code.encode("utf-16-be")).decode().rstrip("=")
    for words, content in {
        "utf-7": f"# coding: utf-7\n# +{hidden}-\n{MIRROR}".encode(),
        "unicode-escape": f"#\n# coding: unicode-escape\n# {code!r}\n{MIRROR}".encode(),
        "iso8859-1": f"# coding: latin-1\n{MIRROR}".encode(),
        "unknown": f"# coding: nonsense\n{MIRROR}".encode(),
        "line 2": f"#\n# \xe9\n{MIRROR}".encode("latin-1"),
        "UTF-16": MIRROR.encode("utf-16"),
    }.items():
        (tmp_path / "mine.py").write_bytes(content)
        line = fails(capsys, f"patterns --plugin {tmp_path}/mine.py", 2)
        assert unnamed(line, f"mine.py UTF-8 {words}") == []
    assert not said.exists()
    for declared in ("# coding: utf-8\r\n", "\ufeff", "# -*- coding: utf8 -*-\r"):
        (tmp_path / "mine.py").write_bytes(f"{declared}{MIRROR}# \xe9".encode())
        polarlab.register(tmp_path / "mine.py")
        assert "mirrored" in polarlab.patterns()
        take_over([])


def test_words_that_are_no_option_run_no_file(written, capsys):
    file = written("raise SystemExit('it ran')\n")
    for words in (["--", "--plugin", file], ["--", f"--plugin={file}"], ["--title=--plugin", file]):
        assert "it ran" not in fails(capsys, ["patterns", *words], 2)
    assert "it ran" in fails(capsys, ["patterns", "--plug", file], 2)


def test_two_plugins_cannot_have_a_name(written, capsys):
    first, second = written(MIRROR, "first.py"), written(MIRROR, "second.py")
    line = fails(capsys, f"patterns --plugin {first} --plugin {second}", 2)
    assert unnamed(line, "mirrored first.py second.py") == []


def test_files_of_experiments_name_plugins_and_load_none(written, tmp_path, capsys):
    file = written(DETOUR)
    assert entry.main(f"run ring --size 8 --routing detour --print-config --plugin {file}".split()) == 0
    config = tmp_path / "config.toml"
    config.write_text(capsys.readouterr().out)
    assert entry.main(f"run {config} --print-config".split()) == 0
    assert capsys.readouterr().out == config.read_text()
    take_over([])
    assert (
        unnamed(fails(capsys, f"run {config} --print-config", 2), "config.toml detour missing mine.py") == []
    )
    changed = written(DETOUR.replace("most=8", "most=9"))
    line = fails(capsys, f"run {config} --print-config --plugin {changed}", 2)
    assert unnamed(line, "detour mine.py") == []
    assert len(set(re.findall("sha256:([0-9a-f]{12})", line))) == 2
    config.write_text(config.read_text().replace("[plugins]", "plugins = 3\n[sweep]"))
    assert "plugins" in fails(capsys, f"run {config} --print-config", 2)


@pytest.mark.usefixtures("compiled_kernels")
def test_results_are_of_their_plugin_alone(written, tmp_path):
    out = tmp_path / "out"

    def sweep(routings, load):
        values = {"patterns": "tornado", "loads": load, "cycles": 200, "warmup": 100, "workers": 1}
        return polarlab.sweep("ring", size=5, engine="simulation", routings=routings, out=out, **values)

    polarlab.register(written(DETOUR))
    sweep("detour", 0.1)
    sweep("min", 0.1)
    manifest = json.loads((out / "manifest.json").read_text())
    assert {*manifest["experiment"]["plugins"]} == {"ring", "detour"}
    polarlab.register(written(DETOUR.replace("most=8", "most=9")))
    with pytest.raises(polarlab.UsageError, match=r"mine\.py.* out$"):
        sweep("detour", 0.2)
    take_over([])
    assert len(polarlab.open_results(out).points) == 2
    with pytest.raises(polarlab.UsageError, match=r"mine\.py.*missing.*register"):
        polarlab.sweep(again=out)


def fresh(code, *words, **options):
    """Runs code in an interpreter that has none of this one's plug-ins."""
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, **options)


def test_other_processes_run_what_was_read(written):
    file = written(DETOUR)
    polarlab.register(file)
    os.unlink(file)
    code = """
import sys
from routing.registry import ROUTINGS
from topology.files.plugin_files import receive
receive(int(sys.argv[1]))
print("detour" in ROUTINGS)
"""
    with handed_over("ring", "detour") as [descriptor]:
        assert fresh(code, str(descriptor), pass_fds=[descriptor]).stdout == "True\n"
    with handed_over("polarfly", "min") as none:
        assert none == ()


def test_a_fabric_of_a_plugin_travels_with_it(written, tmp_path):
    """As to the workers of a cluster."""
    polarlab.register(written(DETOUR))
    asked = {"topology": "ring", "size": 8, "routing": "detour", "load": 0.1, "virtual-channels": 6}
    planned = prepare_fabric(Experiment("simulate", asked).resolve().fabric, ignore)
    (tmp_path / "fabric").write_bytes(pickle.dumps(planned))
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')).plan.routing)"
    done = fresh(code, str(tmp_path / "fabric"))
    assert done.stdout == "detour\n", done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the package of the examples as if it were installed there."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(PACKAGE / "polarlab_scatter", folder / "polarlab_scatter")
    project = (PACKAGE / "pyproject.toml").read_text()
    entries = re.findall(r'\[project\.entry-points\."(.*)"\]\n(\w+) = "(.*)"', project)
    install(folder, "polarlab-scatter", entries)
    return folder


def install(folder, name, entries):
    information = folder / f"{name.replace('-', '_')}-0.1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
    (information / "entry_points.txt").write_text(
        "".join(f"[{group}]\n{key} = {place}\n" for group, key, place in entries)
    )


def outcomes(folder, *lines):
    """Runs command lines beside the packages of a folder; returns status, output and errors of each."""
    code = """
import contextlib, io, json, sys
from polarlab.cli.main import main
for line in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        status = main(line.split())
    print(json.dumps([status, out.getvalue(), err.getvalue()]))
"""
    done = fresh(code, *lines, env={**os.environ, "PYTHONPATH": f"{folder}:{ROOT}"})
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_names_of_an_installed_package_are_as_those_of_polarlab(site, written):
    file = written(MIRROR.replace("mirrored", "mirror"))
    taken, proven, predicted, listed, mistyped, config = outcomes(
        site,
        f"routings --plugin {file}",
        "verify moebius --rungs 4 --routing scatter:share=0.5 --failures links --json",
        "predict moebius --rungs 4 --pattern mirror --load 0.1 --json",
        "topology --list --json",
        "verify polarfly --q 2 --routing scattr",
        "run moebius --rungs 4 --routing scatter --print-config",
    )
    assert unnamed(taken[2], f"mirror polarlab-scatter {file}") == []
    assert json.loads(proven[1])["ok"]
    assert json.loads(predicted[1])["pattern"] == "mirror"
    assert "moebius" in {one["name"] for one in json.loads(listed[1])["families"]}
    assert mistyped[0] == 2
    assert "did you mean 'scatter'" in mistyped[2]
    kept = '^scatter = "polarlab-scatter 0.1.0 sha256:[0-9a-f]{64}"$'
    assert re.search(kept, config[1], re.MULTILINE)


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([("polarlab.routings", "broken", "nowhere:ROUTING")], "broken polarlab-broken ModuleNotFoundError"),
        ([("polarlab.routings", "min", "json:loads")], "min polarlab-broken PolarLab"),
        ([("polarlab.routings", "broken", "json:loads")], "broken polarlab-broken Routing"),
    ],
)
def test_a_wrong_package_is_one_line_where_names_are_listed_and_nothing_elsewhere(entries, words, tmp_path):
    install(tmp_path, "polarlab-broken", entries)
    proven, listed = outcomes(tmp_path, "verify polarfly --q 2 --routing min", "routings")
    assert proven[0] == 0
    assert (listed[0], listed[1], listed[2].count("\n")) == (2, "", 1)
    assert unnamed(listed[2], words) == []


LINES = (
    "--help",
    "run --help",
    "topology polarfly --q 2",
    "verify polarfly --q 2 --routing valiant:over=min",
    "predict polarfly --q 2 --pattern perm1hop:7 --load 0.1",
    "run polarfly --q 2 --pattern allreduce:ring --routing ugal --print-config",
    "run polarfly --q 2 --pattern uniform --print-config",
    "sweep polarfly --q 2 --patterns tornado,hotspot:hosts=2,share=0.5 --vary queue=8,32 --print-config",
    "simulate polarfly --q 2 --pattern halo2d --print-config",
    "explain polarfly --q 2 s1 s2",
)


def test_the_digest_of_a_package_counts_all_of_its_files_but_byte_code(tmp_path, monkeypatch):
    folder = tmp_path / "package_with_data"
    (folder / "tables").mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "tables" / "sizes.csv").write_text("1")
    monkeypatch.syspath_prepend(tmp_path)
    first = package_digest("package_with_data.routing")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "x.pyc").touch()
    assert package_digest("package_with_data.routing") == first
    (folder / "tables" / "sizes.csv").write_text("2")
    assert package_digest("package_with_data.routing") != first


def test_a_command_that_begins_with_the_topology_of_a_package_finds_its_routing(site):
    ((status, _, errors),) = outcomes(site, "verify moebius --rungs 3 --routing scatter:share=0.5")
    assert status == 0, errors


def test_packages_are_not_searched_for_names_of_polarlab():
    code = """
import importlib.metadata, sys
from polarlab.cli.main import main
entry_points = importlib.metadata.entry_points
def search(*, group):  # networkx searches its own
    assert not group.startswith("polarlab")
    return entry_points(group=group)
importlib.metadata.entry_points = search
for line in sys.argv[1:]:
    try:
        status = main(line.split())
    except SystemExit as end:
        status = end.code
    assert status == 0, line
"""
    done = fresh(code, *LINES)
    assert done.returncode == 0, done.stderr


def test_a_program_that_imports_nothing_else_registers_every_kind():
    code = """
from polarlab import extend
from topology.plugins import registries
print(*(one.kind.__name__ for one in registries()))
"""
    done = fresh(code)
    assert {*done.stdout.split()} == {"Collective", "Family", "Motif", "PatternDefinition", "Routing"}


def test_plugins_import_the_documented_names_alone():
    page = (ROOT / "docs" / "how-to" / "extending.md").read_text()
    table = page[page.index("| `polarlab.extend` | names |") :].partition("\n\n")[0]
    assert sorted(re.findall(r"`(\w+)`", table)) == sorted(extend.__all__)
    for module in PACKAGE.rglob("*.py"):
        nodes = [node for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.ImportFrom)]
        own = [
            node
            for node in nodes
            if node.module.partition(".")[0] not in ("__future__", *sys.stdlib_module_names)
        ]
        assert {node.module for node in own} <= {"polarlab.extend"}, module
        assert {alias.name for node in own for alias in node.names} <= {*extend.__all__}


@AS_ROOT
def test_root_runs_a_file_of_another_user_only_once_it_is_approved(capsys):
    with public_folder() as folder:
        file = folder / "mine.py"
        file.write_text(f"#\u2028open('said', 'w')\n#\\u2028\t\n{MIRROR}")
        give(file)
        line = f"predict hypercube --dimension 3 --pattern mirrored --load 0.1 --plugin {file}"
        assert unnamed(fails(capsys, line, 2), f"{file} nobody --run-programs") == []
        assert prints_json(capsys, f"{line} --run-programs --json")["pattern"] == "mirrored"
        take_over([])
        assert "nobody" in fails(capsys, [*line.split(), "--", "--run-programs"], 2)
        with pytest.raises(polarlab.UsageError, match="nobody"):
            polarlab.register(file)
        polarlab.register(file, run_programs=True)
        program = [sys.executable, "-m", "polarlab", *line.split()]
        for answer, status in (("y\r", 0), ("n\r", 2)):
            with Terminal(program) as terminal:
                terminal.expect(r"  \[escaped\] \"#\\u2028open\('said', 'w'\)\"\r\n")
                terminal.expect(r"  \[escaped\] '#\\\\u2028\\t'\r\n")
                terminal.expect(r"return routers\[::-1\]")
                terminal.expect(r"\[y/N\]")
                terminal.type(answer)
                assert terminal.status() == status

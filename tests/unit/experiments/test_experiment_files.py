"""Experiments as files: what a command line means is written, and read back as the same experiment."""

import math
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.fixtures.command_line import fails, prints_json

from experiments.spec.experiment import Experiment
from experiments.spec.options import (
    COLLECTIVE,
    FAILOVER,
    PACKETS,
    RUN,
    SIMULATE,
    SIMULATED_SWEEP,
    SWEEP,
    TRACE,
    TRAFFIC_KINDS,
    options_of,
)
from experiments.spec.resolve import Sweep
from polarlab.cli.main import main
from polarlab.cli.parser import parse
from topology.errors import Status, UsageError

ROOT = Path(__file__).parents[3]
HEAD = 'version = 1\nkind = "run"\n'
ER2 = '[topology]\nname = "polarfly"\nq = 2\n'
# Values of options whose domain no bound says.
TEXTS = {
    "link-rate": ["2Mbit", "500kbit", "10Mbit"],
    "routing": ["min", "valiant"],
    "pattern": ["uniform", "tornado", "perm1hop:7"],
    "placement": ["linear", "random:3"],
    "message-bytes": ["4096", "64KiB,4KB"],
    "faults": ["mtbf:links=30s,mttr=1s"],
    "flow-sizes": ["fixed:10000", "web-search"],
    "tcp": ["cubic", "reno"],
    "exec": ["h1_1 true", "h2_1 echo \"a\\b\" 'ü' # no comment"],
    "routings": ["min", "min,valiant"],
    "patterns": ["uniform", "uniform,tornado"],
    "loads": ["0.1,0.5", "0.1:0.3:0.1"],
    "vary": ["ugal-pf.threshold=0.3,0.5", "hotspot.hosts=1:3:1"],
    "fail": ["link:s1-s5", "random-link,switch:s2"],
    "pcap": ["h1_1", "h2_1,link:s1-s3"],
    "out": ["some folder/here"],
    "flow-control": ["drop"],
    "decision": ["threshold:0.5", "product:candidates=2,whole-path=true", "piggyback:margin=0.5"],
}


def values_of(option, kind):
    """A strategy for the values of an option."""
    if option.name in TEXTS:
        values = st.sampled_from(TEXTS[option.name])
        return (
            st.lists(values, min_size=1, max_size=2, unique=True).map(tuple) if option.repeatable else values
        )
    if option.choices:
        return st.sampled_from(list(option.choices()))
    if option.type is bool:
        return st.booleans()
    least = option.least if math.isfinite(option.least) else 0
    most = min(option.most, 1e6)
    if option.type is int:
        return st.integers(int(least), int(most))
    numbers = st.floats(least, most, exclude_min=option.above is not None)
    return numbers if option.above is None else numbers.filter(lambda value: value > option.above)


@st.composite
def command_lines(draw):
    """The words of an experiment's command line, with any options that go together."""
    kind = draw(st.sampled_from([RUN, SWEEP, SIMULATED_SWEEP, FAILOVER, SIMULATE]))
    kinds = {RUN: {*TRAFFIC_KINDS} - {TRACE}, SIMULATE: {PACKETS, COLLECTIVE, TRACE}}
    traffic = draw(st.sampled_from(sorted(kinds.get(kind, {PACKETS}))))
    must = {
        "packets": [],
        "collective": ["--pattern", draw(st.sampled_from(["allreduce", "allreduce:ring", "all-to-all"]))],
        "flows": ["--flow-sizes", "web-search"],
        "replay": ["--flow-file", "flows.csv"],
        "programs": ["--exec", "h1_1 true"],
        "trace": ["--trace", "trace.csv"],
    }[traffic]
    skipped = {
        "topology",
        "engine",
        "flow-file",
        "exec-file",
        "flow-sizes",
        "trace",
        *(word[2:] for word in must),
    }
    skipped |= {"exec"} if traffic == "packets" else set()
    skipped |= {"pattern", "load"} if traffic == "programs" else set()
    name, *engine = ["demo failover"] if kind == FAILOVER else kind.split()
    words = [*name.split(), "polarfly", "--q", str(draw(st.sampled_from([2, 3]))), *engine, *must]
    for option in options_of(kind):
        applies = not option.kinds or traffic in option.kinds
        if option.when:  # `flow-control` is given, if at all, as the other value than its default
            applies = ("--flow-control=drop" in words) == (option.when == ("flow-control", "drop"))
        given = {word.removeprefix("--").removeprefix("no-").partition("=")[0] for word in words}
        fits = not given & {*option.excludes} and (not option.needs or given & {*option.needs})
        if option.name in skipped or not applies or not fits or not draw(st.booleans()):
            continue
        value = draw(values_of(option, kind))
        if option.type is bool:
            words.append(f"--{option.name}" if value else f"--no-{option.name}")
            continue
        for text in value if isinstance(value, tuple) else (value,):
            words.append(f"--{option.name}={text}")
    return words


@settings(max_examples=75, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=command_lines())
def test_what_a_command_line_means_is_read_back_identically(tmp_path, words):
    experiment = parse(words).experiment
    written = experiment.complete.to_toml()
    path = tmp_path / "experiment.toml"
    path.write_text(written)
    read = Experiment.from_toml(path)
    assert read.to_toml() == written
    assert read.complete.to_toml() == written  # it is complete
    if not {"flow-file", "trace"} & read.values.keys():  # their paths are absolute in files
        assert read == experiment.complete
    command = ["demo", "failover"] if read.kind == FAILOVER else [read.kind]
    assert parse([*command, str(path)]).experiment == read


@pytest.mark.parametrize(
    "words",
    [
        "run polarfly --q 2",
        "run graph --from examples/torus-3x3.edges --load 0.5",
        "run polarfly --q 2 --pattern allreduce",
        "run polarfly --q 2 --link-rate 10Mbit --flow-sizes web-search",
        "sweep polarfly --q 2 --loads 0.5",
        "sweep polarfly --q 2 --vary queue=8:64:8 --vary ugal-pf.threshold=0.3,0.5 --vary load=0.1",
        "demo failover --fail random-link",
    ],
)
def test_print_config_prints_a_complete_file_and_runs_nothing(capsys, tmp_path, words):
    assert main([*words.split(), "--print-config"]) == Status.DONE
    written = capsys.readouterr().out
    path = tmp_path / "experiment.toml"
    path.write_text(written)
    command = words.split()[: 2 if words.startswith("demo") else 1]
    assert main([*command, str(path), "--print-config"]) == Status.DONE
    assert capsys.readouterr().out == written
    first, again = parse(words.split()).experiment.resolve(), Experiment.from_toml(path).resolve()
    if "--from" not in words:  # whose file has its full path
        assert without_graphs(first) == without_graphs(again)


@pytest.mark.parametrize(
    "words", ["run polarfly --q 2", "demo failover", "sweep polarfly --q 2 --vary queue=8"]
)
def test_print_config_prints_the_same_as_json(capsys, words):
    assert main([*words.split(), "--print-config"]) == Status.DONE
    written = tomllib.loads(capsys.readouterr().out)
    assert prints_json(capsys, f"{words} --print-config --json") == written


def without_graphs(chosen):
    """Returns a specification without its graphs, which have no equality of their own."""
    if isinstance(chosen, Sweep):
        points = (replace(one, fabric=replace(one.fabric, topology=None)) for one in chosen.points)
        return replace(chosen, points=tuple(points))
    return replace(chosen, fabric=replace(chosen.fabric, topology=None))


def test_print_config_of_what_cannot_be_run_says_so(capsys):
    words = "run polarfly --q 2 --pattern allreduce --ranks 9 --print-config"
    assert "2 to 7" in fails(capsys, words, Status.USAGE)


def run_of(tmp_path, text, name="experiment.toml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_options_on_the_command_line_win_over_the_file(tmp_path):
    path = run_of(tmp_path, f"{HEAD}{ER2}[traffic]\nload = 0.2\nseed = 5\n")
    chosen = parse(["run", str(path), "--load", "0.4", "--q", "3"]).experiment
    assert chosen.values == {"topology": "polarfly", "q": 3, "load": 0.4, "seed": 5}
    assert parse(["run", "--load", "0.4", str(path)]).experiment.values["load"] == 0.4


def test_values_of_the_file_that_no_longer_apply_are_left_out(tmp_path):
    path = run_of(tmp_path, f'{HEAD}{ER2}[traffic]\nload = 0.2\nduration = 3\narrivals = "constant"\n')
    chosen = parse(["run", str(path), "--pattern", "allreduce"]).experiment
    assert chosen.values == {"topology": "polarfly", "q": 2, "pattern": "allreduce:ring"}


def test_a_switch_of_the_file_can_be_switched_back(tmp_path):
    path = run_of(tmp_path, 'version = 1\nkind = "failover"\n[failover]\nkill-controller = true\n')
    assert parse(["demo", "failover", str(path)]).experiment.values["kill-controller"] is True
    words = ["demo", "failover", str(path), "--no-kill-controller"]
    assert parse(words).experiment.values["kill-controller"] is False


def test_other_commands_take_what_they_know_from_a_file(tmp_path, capsys):
    path = run_of(tmp_path, f'{HEAD}{ER2}[fabric]\nhosts = 2\nrouting = "valiant"\n[traffic]\nload = 0.2\n')
    assert main(["verify", str(path), "--json"]) == Status.DONE
    assert '"routing": "valiant"' in capsys.readouterr().out
    assert main(["topology", str(path), "--json"]) == Status.DONE
    assert '"endpoints": 14' in capsys.readouterr().out
    assert parse(["up", str(path)]).experiment.resolve().fabric.hosts == 2


SWEEP_HEAD = f'version = 1\nkind = "sweep"\n{ER2}'
SEVERAL = f'{SWEEP_HEAD}[sweep]\nroutings = ["min", "valiant"]\npatterns = "tornado"\nloads = [0.1, 0.3]\n'


@pytest.mark.parametrize(
    ("words", "text", "named"),
    [
        ("predict", SEVERAL, "line 7, routings, loads predict min,valiant 0.1,0.3; --routing, --load"),
        ("predict --routing min", SEVERAL, "line 9, loads: --load"),
        ("predict", SWEEP_HEAD, "routings, patterns, loads min,ugal-pf uniform,tornado --pattern"),
        ("verify", SEVERAL, "line 7, routings: verify --routing"),
        ("explain s1 s2", SEVERAL, "line 7, routings: explain --routing"),
        ("rules s1", SEVERAL, "line 7, routings: rules --routing"),
        ("up", SEVERAL, "line 7, routings: up --routing"),
        (
            "up --routing min",
            f'{SWEEP_HEAD}[sweep]\nvary = "queue=8,9"\n',
            "line 7, vary: queue=8,9;",
        ),
        ("verify", f'{SWEEP_HEAD}[sweep]\nvary = "routing=min,ugal"\n', "vary: min,ugal; --routing"),
        (
            "verify",
            f'{SWEEP_HEAD}[sweep]\nroutings = "ugal-pf"\nvary = "ugal-pf.margin=0.2,0.4"\n',
            "vary: ugal-pf.margin=0.2,0.4; --routing",
        ),
        ("predict", f'{HEAD}{ER2}[flows]\nflow-file = "f.csv"\n', "flow-file; --pattern --load"),
        ("predict", f'{HEAD}{ER2}[programs]\nexec = "h1_1 true"\n', "exec; --pattern --load"),
        ("predict", 'version = 1\nkind = "failover"\n', "failover; --pattern --load"),
    ],
)
def test_other_commands_refuse_several_values_and_name_the_key(capsys, tmp_path, words, text, named):
    path = run_of(tmp_path, text)
    command, *more = words.split()
    line = fails(capsys, [command, str(path), *more], Status.USAGE)
    assert str(path) in line
    missing = [word for word in named.split() if word not in line]
    assert not missing, line


def test_other_commands_take_the_only_value_of_a_list(capsys, tmp_path):
    sweep = '[sweep]\nroutings = ["valiant"]\npatterns = "tornado"\nloads = 0.9\nvary = "queue=8,9"\n'
    path = run_of(tmp_path, SWEEP_HEAD + sweep)
    assert main(["predict", str(path), "--json"]) == Status.DONE
    out = capsys.readouterr().out
    assert '"routing": "valiant", "pattern": "tornado", "hosts": 1, "load": 0.9' in out
    assert parse(["verify", str(path)]).experiment.values["routing"] == "valiant"
    words = ["--pattern", "uniform", "--load", "0.2", "--routing", "min"]
    assert main(["predict", str(run_of(tmp_path, SEVERAL)), *words, "--json"]) == Status.DONE
    assert '"routing": "min", "pattern": "uniform", "hosts": 1, "load": 0.2' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "text", "unused"),
    [
        ("up", '[traffic]\nload = 0.2\n[output]\nout = "a"\npcap = "h1_1"\n', "load of"),
        ("up", '[programs]\nexec = "h1_1 true"\n', "exec of"),
        ("predict", '[traffic]\nfaults = "mtbf:links=30s,mttr=1s"\n', "faults of"),
        ("up", "[fabric]\nhosts = 2\n", ""),
        ("verify", "[traffic]\nload = 0.2\n", ""),
        ("topology", "[traffic]\nload = 0.2\n", ""),
    ],
)
def test_keys_that_change_nothing_here_are_told(capsys, tmp_path, command, text, unused):
    path = run_of(tmp_path, f"{HEAD}{ER2}{text}")
    experiment = parse([command, str(path)]).experiment
    assert "out" not in experiment.values
    error = capsys.readouterr().err
    assert bool(error) == bool(unused)
    assert unused in error
    assert error.count("\n") == bool(unused)


def test_input_files_are_relative_to_the_folder_of_the_file(tmp_path, monkeypatch):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "pair.edges").write_text("a b\n")
    (tmp_path / "inner" / "demand.csv").write_text("source,destination,share\nh1_1,h2_1,1\n")
    text = f'{HEAD}[topology]\nname = "graph"\nfrom = "pair.edges"\n'
    text += '[traffic]\npattern = "matrix:demand.csv"\n'
    run_of(tmp_path / "inner", text + '[output]\nout = "results/pair"\n')
    monkeypatch.chdir(tmp_path)
    chosen = Experiment.from_toml("inner/experiment.toml")
    assert chosen.topology.routers == 2
    assert chosen.values["pattern"] == "matrix:inner/demand.csv"
    assert chosen.out == Path("results/pair")
    assert f'from = "{tmp_path}/inner/pair.edges"' in chosen.to_toml()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (f"{HEAD}{ER2}[traffic]\nloda = 0.3\n", "[traffic] 'loda' 'load'"),
        (f"{HEAD}{ER2}[traffic]\nqueue = 3\n", "'queue' belongs [fabric]"),
        (f"{HEAD}{ER2}[trafficc]\nload = 0.3\n", "[trafficc] 'traffic'"),
        (f"{HEAD}{ER2}[sweep]\nloads = 0.3\n", "table run [sweep]"),
        (f"{HEAD}{ER2}[traffic]\nload = 2\n", "line 7, load: over 0 at most 1 2"),
        (f'{HEAD}{ER2}[traffic]\nload = "much"\n', "load 'much'"),
        (f"{HEAD}{ER2}[traffic]\nload = [0.1, 0.2]\n", "load one value"),
        (f"{HEAD}{ER2}[traffic]\nduration = 2024-01-01\n", "duration 0.1 86400"),
        (f"{HEAD}{ER2}[fabric]\nhosts = true\n", "hosts 1 254"),
        (f"{HEAD}{ER2}[fabric]\nqueue = 1.5\n", "queue 100000 1.5"),
        (f'{HEAD}{ER2}[traffic]\npattern = "allreduce"\nload = 0.3\n', "line 8, load: collectives"),
        (f"{HEAD}{ER2}[collective]\nranks = 3\n", "line 7, ranks: collectives"),
        (f"{HEAD}{ER2}radix = 3\n", "[topology] 'radix' name q"),
        (f'{HEAD}[topology]\nname = "polarfli"\nq = 2\n', "line 4, name: polarfly 'polarfli'"),
        (f'{HEAD}[topology]\nname = "graph"\nfrom = "no.graphml"\n', "line 5, from: no.graphml read"),
        (f'{HEAD}{ER2}[traffic]\npattern = "matrix:no.csv"\n', "line 7, pattern: no.csv read"),
        (f'{HEAD}{ER2}[flows]\nflow-file = "no.csv"\n', "line 7, flow-file: no.csv read"),
        (f"{HEAD}{ER2}[traffic]\nload = true\n", "line 7, load: 1 true"),
        (f"{HEAD}[topology]\nq = 2\n", "line 3: [topology] name polarfly, none"),
        (f'{HEAD}[topology]\nname = "polarfly"\n', "[topology] q prime none"),
        (f"{HEAD}{ER2}[traffic]\nload = 0.3 # 1\n\n'pattern' = 'x'\n", "line 9, pattern: 'x'"),
        (f"{HEAD}traffic.load = 3\n{ER2}", "line 3, load: 3"),
        (f"{HEAD}{ER2}[traffic]\nframe-bytes = 30\n", "line 7, frame-bytes: 30"),
        (f'{HEAD}{ER2}[traffic]\npattern = "allreduce"\n[collective]\nranks = 9\n', "line 9, ranks: 9"),
        (f'{HEAD}{ER2}[output]\npcap = ["h1_1",\n"h9_9"]\n', "line 7, pcap: 'h9_9'"),
        (f"{HEAD}", "topology"),
        (f"{HEAD}fabric = 3\n", "line 3, fabric: table"),
        (f"{HEAD}{ER2}[traffic]\nload = 0.3\nload = 0.4\n", "TOML line"),
        (f"{HEAD}{ER2}[traffic\n", "TOML line"),
        ('version = 2\nkind = "run"\n', "line 1, version: 1 2"),
        ('kind = "run"\n', "version 1 none"),
        ('version = "1"\nkind = "run"\n', 'line 1, version: number `version = 1`, "1"'),
        ('version = true\nkind = "run"\n', "line 1, version: number true"),
        ('version = 1\nkind = "runx"\n', "line 2, kind: run 'runx'"),
        ('version = 1\nkind = "sweep"\n' + ER2, "sweep run polarlab"),
    ],
)
def test_a_wrong_file_is_told_in_one_line_with_its_name_and_key(capsys, tmp_path, text, named):
    path = run_of(tmp_path, text)
    line = fails(capsys, ["run", str(path)], Status.USAGE)
    assert str(path) in line
    missing = [word for word in named.split() if word not in line]
    assert not missing, line


@pytest.mark.parametrize("key", ["load", "pattern"])
def test_a_sweep_names_the_list_that_has_a_key_of_a_run(capsys, tmp_path, key):
    path = run_of(tmp_path, f'version = 1\nkind = "sweep"\n{ER2}[traffic]\n{key} = 0.3\n')
    line = fails(capsys, ["sweep", str(path)], Status.USAGE)
    assert f"got {key!r}; a sweep has {key}s in [sweep]" in line


def test_an_error_of_the_command_line_speaks_of_the_option_and_not_of_the_file(capsys, tmp_path):
    path = run_of(tmp_path, f'{HEAD}{ER2}[traffic]\npattern = "allreduce"\n')
    for words in ("--load 2", "--load 0.3", "--ranks 9"):
        line = fails(capsys, ["run", str(path), *words.split()], Status.USAGE)
        assert words.split()[0][2:] in line
        assert str(path) not in line


def test_errors_of_commands_name_the_line_of_what_is_in_the_file_alone(capsys, tmp_path):
    path = run_of(tmp_path, f'{HEAD}{ER2}[fabric]\nrouting = "ugal-pf"\n')
    line = fails(capsys, ["predict", str(path)], Status.USAGE)
    assert f"{path}: line 7, routing: must be oblivious" in line
    assert str(path) not in fails(capsys, ["explain", str(path), "s1", "s99"], Status.USAGE)
    assert str(path) not in fails(capsys, ["predict", str(path), "--routing", "ugal"], Status.USAGE)


def test_a_file_with_a_mark_of_its_byte_order_is_read(tmp_path):
    path = tmp_path / "experiment.toml"
    path.write_bytes(b"\xef\xbb\xbf" + f"{HEAD}{ER2}".encode())
    assert Experiment.from_toml(path).params == {"q": 2}


def test_a_failover_without_the_name_of_its_topology_has_the_default_one(tmp_path):
    path = run_of(tmp_path, 'version = 1\nkind = "failover"\n[topology]\nq = 3\n')
    assert Experiment.from_toml(path).params == {"q": 3}


@pytest.mark.parametrize("content", [None, b"\xff\xfe", "folder"])
def test_a_file_that_cannot_be_read_is_told_in_one_line(capsys, tmp_path, content):
    path = tmp_path / "experiment.toml"
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    assert str(path) in fails(capsys, ["run", str(path)], Status.USAGE)


def test_a_name_that_toml_cannot_hold_is_refused(tmp_path):
    path = tmp_path / "caf\udce9.edges"
    path.write_text("a b\n")
    with pytest.raises(UsageError, match="UTF-8"):
        Experiment("run", {"topology": "graph", "from_": path}).to_toml()


def test_a_key_of_very_many_parts_is_refused_at_once(tmp_path):
    """Python's parser would take minutes for it."""
    file = tmp_path / "deep.toml"
    for key in (".".join("a" * 100_000), "x = {" + ".".join("a" * 100_000)):
        file.write_text(f'version = 1\nkind = "run"\n{key} = 1\n')
        with pytest.raises(UsageError, match="parts"):
            Experiment.from_toml(file)

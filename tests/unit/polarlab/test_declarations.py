"""One declaration of an option: it is found wherever options are read, checked, written or offered."""

import argparse
import inspect
import json
from dataclasses import replace

import argcomplete
import pytest
from support.fixtures.command_line import fails, flags_of, options_in_help

import polarlab
from experiments.comparison.settings import flat_settings
from experiments.spec import options as declarations
from experiments.spec.experiment import Experiment
from experiments.spec.files.experiment_file import experiment_of
from experiments.spec.files.schema import schema
from experiments.spec.option import Option
from polarlab.api.keywords import takes_options
from polarlab.cli.options import add_options
from polarlab.cli.parser import commands, parse
from topology.errors import ParameterError, Status, UsageError
from topology.registry import FAMILIES

JITTER = Option(
    name="link-jitter",
    type=float,
    help="variation of the delay",
    unit="ms",
    default=0.5,
    least=0,
    most=9,
    table="fabric",
    commands=("run", "sweep"),
)
MODE = Option(
    name="mode",
    type=str,
    help="mode of operation",
    default="plain",
    choices=lambda: ("plain", "purled"),
    table="traffic",
    commands=("run",),
    kinds=("packets",),
    excludes=("queue",),
)


@pytest.fixture
def declared(monkeypatch):
    """Two more options, each added at one place."""
    monkeypatch.setattr(declarations, "OPTIONS", (*declarations.OPTIONS, JITTER, MODE))
    declarations.option_names.cache_clear()
    yield
    declarations.option_names.cache_clear()


def experiment(words):
    return parse(words.split()).experiment


@pytest.mark.usefixtures("declared")
class TestOneDeclaration:
    def test_is_an_option_of_its_commands(self):
        assert experiment("run polarfly --q 2 --link-jitter 2").values["link-jitter"] == 2
        assert experiment("sweep polarfly --q 2 --link-jitter 2").values["link-jitter"] == 2
        assert experiment("run polarfly --q 2").complete.values["link-jitter"] == 0.5

    def test_is_in_the_help_with_unit_domain_and_default(self, capsys):
        with pytest.raises(SystemExit):
            parse(["run", "--help-all"])
        text = " ".join(capsys.readouterr().out.split())
        assert "--link-jitter MS variation of the delay, in ms (default 0.5)" in text
        assert "--mode MODE mode of operation: plain, purled (default plain)" in text

    @pytest.mark.parametrize(
        ("words", "named"),
        [
            ("run polarfly --q 2 --link-jitter 10", "link-jitter must be 0 to 9 ms, got 10"),
            ("run polarfly --q 2 --mode pearled", "mode must be one of plain, purled, got 'pearled'"),
            (
                "run polarfly --q 2 --pattern allreduce --mode plain",
                "--mode does not apply to collectives",
            ),
            ("demo failover --link-jitter 1", "--link-jitter"),
            (
                "run polarfly --q 2 --mode purled --queue 8",
                "--mode and --queue cannot be combined",
            ),
            ("run polarfly --q 2 --link-jiter 1", "--link-jiter"),
            ("run --link-jiter 1 polarfly --q 2", "--link-jiter"),
        ],
    )
    def test_is_checked(self, capsys, words, named):
        assert named in fails(capsys, words, Status.USAGE)

    def test_is_a_key_of_sweeps(self, capsys):
        chosen = experiment("sweep polarfly --q 2 --loads 0.1 --vary link-jitter=1:3:1").resolve()
        assert [variation.values for variation in chosen.sweep.vary] == [(1.0, 2.0, 3.0)]
        assert {dict(one.point.options)["link-jitter"] for one in chosen.points} == {1.0, 2.0, 3.0}
        words = "sweep polarfly --q 2 --vary link-jiter=1"
        assert "'link-jitter'" in fails(capsys, words, Status.USAGE)

    def test_is_a_key_of_files(self, tmp_path):
        path = tmp_path / "experiment.toml"
        chosen = experiment("run polarfly --q 2 --mode purled").complete
        path.write_text(chosen.to_toml())
        assert "link-jitter = 0.5  # ms" in path.read_text()
        assert Experiment.from_toml(path) == chosen

    def test_is_in_the_schema(self):
        kinds = {branch["then"]["title"]: branch["then"]["properties"] for branch in schema()["allOf"]}
        run, sweep, simulated_sweep, failover, simulate = kinds.values()
        for tables in (run, sweep):
            entry = tables["fabric"]["properties"]["link-jitter"]
            assert (entry["type"], entry["minimum"], entry["maximum"], entry["default"]) == (
                ["number", "string"],  # such as `300us`
                0,
                9,
                0.5,
            )
        for tables in (failover, simulate, simulated_sweep):
            assert "link-jitter" not in tables["fabric"]["properties"]
        assert run["traffic"]["properties"]["mode"]["enum"] == ["plain", "purled"]

    def test_is_a_keyword_of_python(self):
        chosen = Experiment("run", {"topology": "polarfly", "q": 2, "link_jitter": 3})
        assert chosen.values["link-jitter"] == 3.0
        shown = takes_options("run")(self.taker)
        keyword = inspect.signature(shown).parameters["link_jitter"]
        assert (keyword.kind, keyword.annotation, keyword.default) == (
            keyword.KEYWORD_ONLY,
            float | str | None,
            0.5,
        )
        assert "\n    link_jitter: variation of the delay, in ms\n" in inspect.getdoc(shown)

    @staticmethod
    def taker(**options):
        """Takes options.

        Args:
            options: the options.
        """

    def test_is_kept_in_manifests_and_compared(self):
        kept = experiment("run polarfly --q 2 --link-jitter 2").resolve().fabric.experiment
        assert kept["fabric"]["link-jitter"] == 2
        assert experiment_of(kept, "manifest.json", None).values["link-jitter"] == 2
        rows = flat_settings({"name": "polarfly", "link_rate_bps": 1, "experiment": kept})
        assert rows["link_jitter"] == 2
        assert "link_rate" not in rows  # which is there by its own name

    def test_is_completed_in_the_shell(self):
        parser = argparse.ArgumentParser()
        add_options(parser, "run", ["polarfly"])
        finder = argcomplete.CompletionFinder(parser, default_completer=argcomplete.SuppressCompleter())
        for line, offered in (("polarfly --link-j", "--link-jitter"), ("polarfly --mode pu", "purled")):
            assert finder.rl_complete(line, 0).split() == ["polarfly", *line.split()[1:-1], offered]


def test_every_option_has_a_help_and_a_domain():
    parameters = [option for family in FAMILIES for option in declarations.family_options(family)]
    assert all(option.help and option.domain for option in (*declarations.OPTIONS, *parameters))


def test_no_command_has_two_options_of_a_name():
    for command in {command for option in declarations.OPTIONS for command in option.commands}:
        names = [option.name for option in declarations.OPTIONS if command in option.commands]
        assert len(names) == len(set(names)), command


def test_all_names_that_declarations_refer_to_exist():
    for option in declarations.OPTIONS:
        assert all(isinstance(name, str) for name in option.names()), option.name
        for name in option.known() if option.known and option.canonical else ():
            assert name == "matrix" or option.accept(name)  # which needs a file


def test_defaults_are_in_their_domains():
    for option in declarations.OPTIONS:
        for command in option.commands:
            default = option.default_for(command)
            if default is not None:
                assert option.accept(default) == default


def test_the_declarations_are_the_options_of_the_parsers():
    parameters = [option for family in FAMILIES for option in declarations.family_options(family)]
    own_names = {f"--{option.name.removeprefix('topology-')}" for option in parameters}
    for name in commands():
        kinds = {"failover" if name == "demo" else name}
        kinds |= {declarations.SIMULATED_SWEEP} if name == "sweep" else set()
        own = [option for option in declarations.OPTIONS if kinds & {*option.commands}]
        declared = {f"--{no}{option.name}" for option in (*own, *parameters) for no in ("", "no-")}
        offered = {flag for written in options_in_help(name) for flag in flags_of(written)}
        assert offered <= declared | own_names, name


def test_help_of_a_topology_has_the_parameters_of_its_family_alone(capsys):
    with pytest.raises(SystemExit):
        parse(["topology", "polarfly", "--help"])
    out = capsys.readouterr().out
    assert "--q " in out
    assert not [name for name in ("--radix", "--supernode", "--from") if f"\n  {name}" in out]


@pytest.mark.usefixtures("own_names")
def test_a_familys_parameter_with_the_name_of_an_option_is_named_by_the_topology(tmp_path):
    made = {}

    def make(**params):
        made.update(params)
        return FAMILIES["polarfly"].make(q=2)

    seed = replace(FAMILIES["polarfly"].parameters[0], name="seed")
    family = replace(FAMILIES["polarfly"], parameters=(seed,), make=make)
    polarlab.register("drawn", family)
    chosen = experiment("run drawn --topology-seed 7 --seed 3")
    assert chosen.params == {"seed": 7}
    assert chosen.values["seed"] == 3
    assert chosen.topology.routers == 7
    assert made == {"seed": 7}
    path = tmp_path / "drawn.toml"
    path.write_text(chosen.to_toml())
    assert '[topology]\nname = "drawn"\nseed = 7\n' in path.read_text()
    assert Experiment.from_toml(path) == chosen


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"topology": "polarfly", "q": 2, "loda": 0.3}, "did you mean 'load'"),
        ({"topology": "polarfly", "q": 2, "load": "0.3"}, "load must be a number, over 0 and at most 1"),
        ({"topology": "polarfly", "q": 2, "load": True}, "load must be"),
        ({"topology": "polarfly", "q": 2.5}, "q must be a whole number, a prime power"),
        ({"topology": "polarfly", "q": 2, "queue": [1, 2]}, "queue must be"),
        ({"topology": "polarfly", "q": 2, "pcap": [3]}, "pcap must be text"),
        ({"topology": "polarfly", "q": 2, "fail": "link:s1-s2"}, "of failover"),
        ({"topology": "polarfli", "q": 2}, "did you mean 'polarfly'"),
        ({"q": 2}, "topology must be given"),
        ({"topology": "slimfly", "q": 3, "radix": 3}, "--q, got --radix"),
    ],
)
def test_values_from_python_are_checked(values, named):
    with pytest.raises(UsageError, match=named):
        Experiment("run", values)


def test_values_from_python_may_be_numbers_and_lists():
    values = {"topology": "polarfly", "q": 2, "pattern": "allreduce", "message_bytes": [4096, "64KiB"]}
    assert Experiment("run", values).values["message-bytes"] == "4096,64KiB"
    assert Experiment("sweep", {"topology": "polarfly", "q": 2, "loads": 0.5}).values["loads"] == "0.5"
    with pytest.raises(ParameterError):
        Experiment("run", {**values, "message_bytes": [True]})


def test_all_values_of_an_experiment_are_json(capsys):
    kept = experiment("run polarfly --q 2 --exec true --pcap h1_1").complete.values
    assert json.loads(json.dumps(kept))

"""Ready files of experiments in `examples/`: each resolves, and its complete form means the same."""

import re
import tomllib
from pathlib import Path

import pytest
from support.fixtures.documents import blocks

from experiments.spec.experiment import Experiment
from experiments.spec.files.schema import schema
from experiments.spec.options import FAILOVER, KINDS
from polarlab.cli.main import main
from topology.errors import Status

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.toml"))


def test_there_are_examples_of_each_kind_of_experiment_and_traffic():
    experiments = [Experiment.from_toml(path) for path in EXAMPLES]
    assert {experiment.kind for experiment in experiments} == set(KINDS)
    traffic = {experiment.traffic_kind for experiment in experiments}
    assert traffic >= {"packets", "collective", "flows", "programs"}


def test_the_file_that_the_page_shows_is_one(tmp_path):
    page = Path(__file__).parents[3] / "docs" / "how-to" / "experiments.md"
    [shown] = [block.text for block in blocks(page) if block.kind == "toml"]
    (tmp_path / "shown.toml").write_text(shown)
    assert Experiment.from_toml(tmp_path / "shown.toml").resolve().traffic.load == 0.2


def fits(value, rule):
    """Whether a value keeps a rule of a JSON schema, as far as the schema of experiments has any."""
    if not fits_parts(value, rule):
        return False
    if "pattern" in rule and isinstance(value, str) and not re.search(rule["pattern"], value):
        return False
    kinds = rule.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(
        isinstance(value, TYPES[kind]) and not isinstance(value, OTHERS[kind]) for kind in kinds
    ):
        return False
    if isinstance(value, dict):
        known = rule.get("properties", {})
        if not rule.get("additionalProperties", True) and not value.keys() <= known.keys():
            return False
        if not value.keys() >= set(rule.get("required", ())):
            return False
        names = rule.get("propertyNames", {})
        return all(fits(entry, known.get(key, {})) and fits(key, names) for key, entry in value.items())
    if isinstance(value, list):
        return all(fits(entry, rule["items"]) for entry in value) if "items" in rule else True
    number = isinstance(value, int | float)
    if isinstance(value, bool) and "const" in rule:
        return False
    return (
        value == rule.get("const", value)
        and value in rule.get("enum", [value])
        and not (number and value < rule.get("minimum", value))
        and not (number and value > rule.get("maximum", value))
        and not (number and value <= rule.get("exclusiveMinimum", value - 1))
    )


def fits_parts(value, rule):
    """Whether a value keeps the rules that a rule is made of."""
    if not all(fits(value, one) for one in rule.get("allOf", ())):
        return False
    if "anyOf" in rule and not any(fits(value, one) for one in rule["anyOf"]):
        return False
    return "if" not in rule or not fits(value, rule["if"]) or fits(value, rule["then"])


TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": int | float}
OTHERS = {**dict.fromkeys(TYPES, ()), "integer": bool, "number": bool}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_schema_takes_examples_and_their_complete_forms_alone(path):
    content = tomllib.loads(path.read_text())
    assert fits(content, schema())
    complete = Experiment.from_toml(path).complete.to_toml()
    assert fits(tomllib.loads(complete), schema())
    for wrong in (
        {"version": 2},
        {"kind": "other"},
        {"tables": {}},
        {"fabric": {"quue": 3}},
        {"fabric": {"queue": 0}},
    ):
        assert not fits({**content, **wrong}, schema()), wrong


HEAD = 'version = 1\nkind = "run"\n[topology]\nname = "polarfly"\nq = 2\n'
SWEEP_HEAD = HEAD.replace('"run"', '"sweep"')


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (HEAD, True),
        (HEAD.replace("1", '"1"'), False),
        (HEAD.replace("polarfly", "polarfli"), False),
        (HEAD.replace("q = 2", 'supernode = "iq"'), False),
        (HEAD.replace('name = "polarfly"\n', ""), False),
        (HEAD.replace("q = 2\n", ""), False),
        (f'{HEAD}[fabric]\nrouting = "mni"\n', False),
        (f'{HEAD}[fabric]\nrouting = "ugal-pf:threshold=0.5"\n', True),
        (f'{HEAD}[fabric]\nlink-rate = "auto"\n', True),
        (f'{HEAD}[traffic]\npattern = "tornaddo"\n', False),
        (f'{HEAD}[traffic]\npattern = "hotspot:8"\nwarmup = "steady"\n', True),
        (f'{HEAD}[traffic]\npattern = "allreduce"\n[collective]\nplacement = "random:3"\n', True),
        (f'{HEAD}[collective]\nplacement = "randon:3"\n', False),
        (f'{HEAD}[flows]\nflow-sizes = "mine.csv"\n', True),
        (f"{HEAD}[sweep]\nloads = 0.3\n", False),
        (f'{SWEEP_HEAD}[sweep]\nloads = 0.3\nroutings = ["min", "ugal-pf:margin=0.5"]\n', True),
        (f'{SWEEP_HEAD}[sweep]\nroutings = ["mni"]\n', False),
        (f'{SWEEP_HEAD}[sweep]\nvary = {{ queue = [8, 9], "ugal-pf.threshold" = 0.5 }}\n', True),
        (f"{SWEEP_HEAD}[sweep]\nvary = {{ quue = [8, 9] }}\n", False),
        (f'{SWEEP_HEAD}[sweep]\nvary = ["queue=8"]\n', True),
        (f'{SWEEP_HEAD}[sweep]\nvary = "quue=8"\n', False),
        ('version = 1\nkind = "failover"\n', True),
        ('version = 1\nkind = "failover"\n[topology]\nq = 3\n', True),
        ('version = 1\nkind = "failover"\n[topology]\nname = "slimfly"\n', False),
    ],
)
def test_the_schema_checks_names_by_the_kind_and_the_family(tmp_path, text, right):
    assert fits(tomllib.loads(text), schema()) == right
    (tmp_path / "one.toml").write_text(text)
    if right:
        assert Experiment.from_toml(tmp_path / "one.toml").topology.routers


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_resolves_and_its_complete_form_is_read_back(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert path.read_text().startswith("# ")
    experiment = Experiment.from_toml(path)
    assert experiment.resolve().fabric.topology.routers > 1
    command = ["demo", "failover"] if experiment.kind == FAILOVER else [experiment.kind]
    assert main([*command, str(path), "--print-config"]) == Status.DONE
    written = capsys.readouterr().out
    copy = tmp_path / "copy.toml"
    copy.write_text(written)
    assert Experiment.from_toml(copy) == experiment.complete
    assert main([*command, str(copy), "--print-config"]) == Status.DONE
    assert capsys.readouterr().out == written

"""`import polarlab`: its names, its examples, and that the command line can do no more and no less."""

import ast
import doctest
import importlib
import inspect
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest
from support.fixtures.docstrings import (
    LAUNCHING,
    ON_A_FABRIC,
    disagreement,
    examples_of,
    names_in,
    with_docstrings,
    write_results,
)
from support.fixtures.documents import ROOT

import polarlab
from polarlab import extend
from polarlab.cli.parser import commands

# Each command, and the functions and classes that do in Python what it does.
COMMANDS = {
    "topology": {"topology", "from_networkx", "families", "designs", "numbers", "export", "draw"},
    "families": {"nearest_members"},
    "verify": {"plan", "prove", "prove_deadlock_freedom"},
    "predict": {"predict"},
    "patterns": {"patterns"},
    "routings": {"routings"},
    "explain": {"explain"},
    "rules": {"rules"},
    "up": {"Fabric"},
    "run": {"run"},
    "sweep": {"sweep"},
    "simulate": {"simulate"},
    "saturation": {"saturation"},
    "crosscheck": {"crosscheck"},
    "demo": {"failover"},
    "watch": {"watch"},
    "plot": {"open_results", "plot"},
    "report": {"report"},
    "compare": {"compare"},
    "doctor": {"doctor"},
    "clean": {"clean"},
    "paper": {"papers", "reproduce"},
    "schema": {"schema"},
    "cite": set(),
}
FACES = pytest.mark.parametrize("face", [polarlab, extend], ids=["polarlab", "extend"])
WITHOUT_EXAMPLE = {"__version__"}  # it changes with each release


def public(name):
    return getattr(polarlab, name)


def test_every_command_has_its_functions_and_every_function_its_command():
    functions = {name for name in polarlab.__all__ if inspect.isfunction(public(name))} | {"Fabric"}
    assert set(commands()) == set(COMMANDS)
    assert functions == {"register"}.union(*COMMANDS.values())  # --plugin of every command


@pytest.mark.parametrize("name", polarlab.__all__)
def test_every_name_is_there_and_documented(name):
    assert public(name)
    assert name == "__version__" or inspect.getdoc(public(name))


def test_names_are_those_of_type_checkers():
    """What is loaded is what the imports of the stub name."""
    tree = ast.parse(Path(polarlab.__file__).with_suffix(".pyi").read_text())
    imported = {
        alias.asname: getattr(importlib.import_module(node.module), alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    assert {*imported, "__version__"} == set(polarlab.__all__)
    assert {name: public(name) for name in imported} == imported


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'topologies'"):
        getattr(polarlab, "topologies")  # noqa: B009
    assert set(polarlab.__all__) == set(dir(polarlab))


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "polarlab" / "py.typed").exists()


HEAVY = ("numpy", "networkx", "matplotlib", "pandas", "mininet", "scapy", "rich", "argparse", "topology")


def test_import_polarlab_loads_nothing_heavy():
    code = "import sys, polarlab; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & set(HEAVY) == set()


@FACES
def test_every_name_has_an_example(face):
    """A class or a function has its own; those of others use constants and types."""
    examples = {name: examples_of(face, name) for name in with_docstrings(face)}
    used = names_in(chain(*examples.values()))
    without = {name for name in face.__all__ if not examples.get(name, name in used)}
    assert without <= WITHOUT_EXAMPLE


# tests/fabric/test_docstrings.py runs those that need root.
@FACES
@pytest.mark.usefixtures("own_names", "compiled_kernels")
def test_examples_of_docstrings(face, tmp_path):
    write_results(tmp_path)
    names = [name for name in with_docstrings(face) if name not in {*ON_A_FABRIC, *LAUNCHING}]
    reports = [disagreement(one, tmp_path) for name in names for one in examples_of(face, name)]
    assert "".join(reports) == ""


def test_a_command_loads_no_other_family_routing_or_path_set():
    code = "import sys; from polarlab.cli.main import main; main(sys.argv[1:]); print(*sorted(sys.modules))"
    words = ["verify", "hypercube", "--dimension", "2", "--routing", "valiant:over=dor", "--json"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    named = {
        "topology.families.classic.hypercube",
        "routing.algorithms.valiant",
        "routing.path_sets.dimension_order",
    }
    others = {
        "topology.families.random.jellyfish",
        "routing.algorithms.ugal",
        "routing.path_sets.up_down",
    }
    assert loaded & (named | others) == named


def test_the_package_s_own_example():
    assert doctest.testmod(polarlab).failed == 0


PUBLIC_FUNCTIONS = [name for name in polarlab.__all__ if inspect.isfunction(public(name))]


@pytest.mark.parametrize("name", PUBLIC_FUNCTIONS)
def test_every_argument_of_a_function_is_described_and_typed(name):
    function = public(name)
    text = inspect.getdoc(function)
    for parameter in inspect.signature(function).parameters.values():
        assert f"\n    {parameter.name}: " in text, parameter.name
        assert parameter.annotation is not inspect.Parameter.empty
    assert inspect.signature(function).return_annotation is not inspect.Signature.empty

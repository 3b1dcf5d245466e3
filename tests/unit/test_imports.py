"""The order of the packages: import-linter's contracts (setup.cfg), and the rules that it cannot hold."""

import ast
import configparser
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))
CONTRACT = "importlinter:contract:"


def settings() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    return parser


def lint_imports(folder: Path) -> tuple[int, str]:
    """Runs import-linter in a folder; returns its exit status and its text."""
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run(
        command, check=False, cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout + done.stderr


def test_the_contracts_hold():
    status, text = lint_imports(ROOT)
    assert status == 0, text


# Modules with a line each that breaks a contract, and the import that is reported.
BROKEN = [
    ("topology", "import routing.new", "routing.new", "packages"),
    ("controller", "def f():\n    from emulation import new", "emulation.new", "packages"),
    ("traffic/workload", "from traffic.engine import new", "traffic.engine.new", "packages"),
    ("controller", "import traffic.wire.new", "traffic.wire.new", "siblings"),
    ("routing", "import socket", "socket", "pure"),
    ("experiments", "import mininet.net", "mininet", "libraries"),
    ("emulation", "def f():\n    from distutils import util", "distutils", "removed"),
    ("polarlab/cli", "def f():\n    import experiments.new", "experiments.new", "face"),
    ("controller", "from os_ken.lib import hub", "os_ken", "libraries"),
    ("simulation", "import scapy.all", "scapy", "libraries"),
    ("simulation", "import cgi", "cgi", "removed"),
    ("polarlab/cli", "import simulation.new", "simulation.new", "face"),
    ("experiments", "from numba import njit", "numba", "compiled"),
]


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """The report on a project with all of them: the text on each contract by its name."""
    folder = tmp_path_factory.mktemp("project")
    parts = [f"traffic/{part}" for part in ("wire", "engine", "workload", "metrics")]
    for package in [*PACKAGES, *parts, "polarlab/cli", "simulation/tables"]:
        (folder / package).mkdir(parents=True, exist_ok=True)
        (folder / package / "__init__.py").touch()
        lines = [source for name, source, *_ in BROKEN if name == package]
        (folder / package / "new.py").write_text("\n".join([*lines, ""]))
    contracts = settings()
    for section in contracts.sections():
        contracts.remove_option(section, "ignore_imports")
    with (folder / "setup.cfg").open("w") as file:
        contracts.write(file)
    status, text = lint_imports(folder)
    assert status == 1, text
    _, *headed = re.split(r"^(.+)\n-+$", text, flags=re.MULTILINE)
    return dict(zip(headed[::2], headed[1::2], strict=True))


@pytest.mark.parametrize(("package", "source", "imported", "contract"), BROKEN)
def test_a_broken_contract_is_reported(reported, package, source, imported, contract):
    name = settings()[CONTRACT + contract]["name"]
    assert f" {package.replace('/', '.')}.new -> {imported} (l." in reported[name]


def test_no_package_is_left_out_of_the_contracts():
    contracts = settings()
    assert sorted(contracts["importlinter"]["root_packages"].split()) == PACKAGES
    for contract in ("libraries", "removed"):
        assert sorted(contracts[CONTRACT + contract]["source_modules"].split()) == PACKAGES
    layers = set(contracts[CONTRACT + "packages"]["layers"].split())
    for package in PACKAGES:
        parts = {f"{package}.{path.parent.name}" for path in (ROOT / package).glob("*/__init__.py")}
        assert package in layers or (parts and parts <= layers), f"{package} has no layer"


def test_the_picture_for_contributors_is_the_order_of_the_layers():
    [picture] = re.findall(r"```text\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    layers = settings()[CONTRACT + "packages"]["layers"].strip().splitlines()
    assert [line.partition("  ")[0] for line in picture.splitlines()] == layers


def test_every_wrapped_library_has_its_place():
    libraries = settings()[CONTRACT + "libraries"]
    wrapped = {line.split()[-1] for line in libraries["ignore_imports"].strip().splitlines()}
    # Frameworks are loaded by name (controller.openflow.frameworks), the others are for tests.
    assert set(libraries["forbidden_modules"].split()) - wrapped == {
        *("galois", "hypothesis", "os_ken", "pytest", "ryu")
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_product_code_does_not_import_the_tests(package):
    """`tests` and `vagrant` are folders, not packages: import-linter does not know them."""
    for path in (ROOT / package).rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
        assert not {name.partition(".")[0] for name in names} & {"tests", "vagrant"}, path

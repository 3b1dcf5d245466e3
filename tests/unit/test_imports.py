"""Who may import whom: the boundaries between the parts, read from their imports."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("topology", "routing", "controller", "emulation", "traffic", "experiments", "polarlab")
MAY_IMPORT = {
    "topology": set(),
    "routing": {"topology"},
    "controller": {"topology", "routing"},
    "emulation": {"topology", "routing"},
    "traffic": {"topology", "routing"},
    "experiments": {"topology", "routing", "controller", "emulation", "traffic"},
    "polarlab": {"topology", "routing", "controller", "emulation", "traffic", "experiments"},
}
# A library -> the only places that may import it: a part, or one module.
ONLY_IN = {
    "ryu": "controller/openflow/runtime.py",
    "eventlet": "controller/openflow/runtime.py",
    "mininet": "emulation/",
    "scapy": "traffic/wire/probe_frame.py",
    "galois": "topology/finite_fields/tables.py",
}


def imported(source: str) -> set[str]:
    """The top-level names that a module imports, wherever in it the import stands."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the part that they cross into"
            names.add((node.module or "").partition(".")[0])
    return names


IMPORTS = {
    path.relative_to(ROOT).as_posix(): imported(path.read_text())
    for part in PARTS
    for path in sorted((ROOT / part).rglob("*.py"))
}
every_module = pytest.mark.parametrize("module", sorted(IMPORTS))


def test_every_part_has_modules():
    assert {module.partition("/")[0] for module in IMPORTS} == set(PARTS)


def test_imports_are_found_wherever_they_stand():
    source = "import a.b, c\ndef f():\n    from d.e import g\nif True:\n    import h as i\n"
    assert imported(source) == {"a", "c", "d", "h"}


@every_module
def test_a_part_imports_only_the_parts_that_it_may(module):
    part = module.partition("/")[0]
    foreign = IMPORTS[module] & set(PARTS) - {part} - MAY_IMPORT[part]
    assert not foreign, f"{module} imports {', '.join(sorted(foreign))}"


@every_module
def test_product_code_does_not_import_tests(module):
    assert not IMPORTS[module] & {"tests", "vagrant", "pytest", "hypothesis"}


@pytest.mark.parametrize("library", ONLY_IN)
def test_a_library_stays_behind_its_boundary(library):
    users = {module for module, names in IMPORTS.items() if library in names}
    assert users, "the boundary stands where the library is used"
    outside = {module for module in users if not module.startswith(ONLY_IN[library])}
    assert not outside, f"{library} is imported by {', '.join(sorted(outside))}"


def test_topology_does_no_io_beyond_its_tables():
    readers = {
        module
        for module, names in IMPORTS.items()
        if module.startswith("topology/") and names & {"os", "io", "pathlib", "socket", "subprocess", "sys"}
    }
    assert readers <= {"topology/finite_fields/tables.py", "topology/families/graph_file.py"}

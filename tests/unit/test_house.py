"""Sizes of the product's modules, functions and folders, which are to stay readable."""

import ast
from collections import Counter
from pathlib import Path

import pytest
from documents import PACKAGES, ROOT

MODULES = {
    path.relative_to(ROOT).as_posix(): path for package in PACKAGES for path in (ROOT / package).rglob("*.py")
}
MAX_MODULE_LINES, MAX_FUNCTION_LINES, MAX_MODULES = 400, 40, 16
HEADLESS = ("What", "Which", "Where", "How", "Who", "Whose", "From")


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Returns the lines of a function without its signature and docstring."""
    first = function.body[1] if ast.get_docstring(function) and len(function.body) > 1 else function.body[0]
    return function.end_lineno - first.lineno + 1


def functions(path: Path):
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds))


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_and_its_functions_are_short_and_its_first_word_is_a_noun(module):
    path = MODULES[module]
    assert path.read_text().count("\n") <= MAX_MODULE_LINES
    long = {node.name: body_lines(node) for node in functions(path) if body_lines(node) > MAX_FUNCTION_LINES}
    assert not long
    assert not (ast.get_docstring(ast.parse(path.read_text())) or "").startswith(HEADLESS)


def test_no_folder_is_a_drawer():
    folders = Counter(path.parent for path in MODULES.values() if path.name != "__init__.py")
    full = {str(folder.relative_to(ROOT)): count for folder, count in folders.items() if count > MAX_MODULES}
    assert not full

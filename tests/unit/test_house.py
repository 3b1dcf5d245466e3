"""Habits of the house: nouns introduce modules, and tests know neither private names nor sentences."""

import ast
import contextlib
import re
from itertools import chain

import pytest
from support.fixtures.documents import PACKAGES, ROOT

MODULES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
TESTS = sorted((ROOT / "tests").rglob("*.py"))
HEADLESS = ("What", "Which", "Where", "How", "Who", "Whose", "From")
PRIVATE = re.compile(r"_(?!_)\w*[^\W_]")  # `_name`, but neither `_`, `__name__` nor `_repr_html_`
# Public in spite of their names, of `os` and of named tuples; and pytest's only way to run a test once more.
PUBLIC = {"_exit", "_asdict", "_replace", "_fields", "_pytest"}
SENTENCE = re.compile(r"([A-Za-z]{2,}\b,? ){3}[A-Za-z]{2,}")
PATCHES = {"setattr", "delattr", "getattr", "patch", "object"}


def name_of(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_the_first_word_on_a_module_is_a_noun(module):
    assert not (ast.get_docstring(ast.parse(module.read_text())) or "").startswith(HEADLESS)


def foreign_private_names(source):
    """Yields the private names that a program takes from others: by attribute, import or patch."""
    for node in ast.walk(ast.parse(source)):
        names = []
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                pass  # of its own
            case ast.Attribute(attr=name):
                names = [name]
            case ast.ImportFrom(module=module, names=aliases):
                names = [*(module or "").split("."), *(alias.name for alias in aliases)]
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in PATCHES:
                texts = [one.value for one in node.args if isinstance(one, ast.Constant)]
                names = chain.from_iterable(text.split(".") for text in texts if isinstance(text, str))
            case ast.Constant(value=str(text)) if re.search(r"^(import|from) ", text, re.MULTILINE):
                with contextlib.suppress(SyntaxError):  # it merely mentions the word
                    yield from foreign_private_names(text)  # a program that a test runs
        yield from (name for name in names if PRIVATE.fullmatch(name) and name not in PUBLIC)


@pytest.mark.parametrize("module", TESTS, ids=name_of)
def test_a_test_knows_no_private_name_of_the_product_or_of_a_library(module):
    assert not list(foreign_private_names(module.read_text()))


def pinned_sentences(source):
    """Yields the patterns of errors' texts that have four words in a row."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.keyword) and node.arg == "match":
            texts = [one.value for one in ast.walk(node.value) if isinstance(one, ast.Constant)]
            yield from (text for text in texts if isinstance(text, str) and SENTENCE.search(text))


@pytest.mark.parametrize("module", TESTS, ids=name_of)
def test_a_test_pins_the_value_that_an_error_names_and_not_its_words(module):
    """Whole messages stand in tests/data/messages.txt."""
    assert not list(pinned_sentences(module.read_text()))


def test_the_page_on_what_tests_share_has_all_of_it():
    support = ROOT / "tests" / "support"
    rows = re.findall(r"^\| `(\w+)` \|", (support / "README.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(path.stem for path in support.rglob("*.py"))

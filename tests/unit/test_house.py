"""Habits of the house: nouns introduce modules, and tests know neither private names nor sentences."""

import ast
import contextlib
import re
from itertools import chain

from support.fixtures.documents import PACKAGES, ROOT

HEADLESS = ("What", "Which", "Where", "How", "Who", "Whose", "From")
PRIVATE = re.compile(r"_(?!_)\w*[^\W_]")  # `_name`, but neither `_`, `__name__` nor `_repr_html_`
# Public in spite of their names, of `os` and of named tuples; and pytest's only way to run a test once more.
PUBLIC = {"_exit", "_asdict", "_replace", "_fields", "_pytest"}
SENTENCE = re.compile(r"([A-Za-z]{2,}\b,? ){3}[A-Za-z]{2,}")
PATCHES = {"setattr", "delattr", "getattr", "patch", "object"}


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def found_in_tests(search):
    """Returns the names of the tests' modules in whose text a search finds anything, with what it finds."""
    found = {name_of(path): [*search(path.read_text())] for path in (ROOT / "tests").rglob("*.py")}
    return {name: those for name, those in found.items() if those}


def test_the_first_word_on_a_module_is_a_noun():
    modules = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    words = {name_of(path): ast.get_docstring(ast.parse(path.read_text())) or "" for path in modules}
    assert [name for name, text in words.items() if text.startswith(HEADLESS)] == []


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


def test_tests_know_no_private_name_of_the_product_or_of_a_library():
    assert found_in_tests(foreign_private_names) == {}


def pinned_sentences(source):
    """Yields the patterns of errors' texts that have four words in a row."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.keyword) and node.arg == "match":
            texts = [one.value for one in ast.walk(node.value) if isinstance(one, ast.Constant)]
            yield from (text for text in texts if isinstance(text, str) and SENTENCE.search(text))


def test_tests_pin_the_value_that_an_error_names_and_not_its_words():
    """Whole messages stand in tests/data/messages.txt."""
    assert found_in_tests(pinned_sentences) == {}


def test_the_page_on_what_tests_share_has_all_of_it():
    support = ROOT / "tests" / "support"
    rows = re.findall(r"^\| `(\w+)` \|", (support / "README.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(path.stem for path in support.rglob("*.py"))

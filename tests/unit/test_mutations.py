"""The list of mutations fits the code: each changes one place, and names tests that exist."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MUTATIONS = tomllib.loads((ROOT / "tests" / "mutations.toml").read_text("utf-8"))["mutation"]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one["name"])
def test_a_mutation_changes_one_place_and_names_its_tests(mutation):
    source = (ROOT / mutation["file"]).read_text("utf-8")
    assert source.count(mutation["old"]) == 1
    assert mutation["new"] != mutation["old"]
    for test in mutation["tests"]:
        file, _, name = test.partition("::")
        place = ROOT / file
        assert place.exists()
        assert not name or f"def {name.partition('[')[0]}(" in place.read_text("utf-8")

"""The list of mutations is of this code and these tests: what is renamed is renamed there, too."""

import pytest
from mutations import read_mutations


@pytest.fixture(scope="module")
def mutations():
    """Returns all of the list."""
    return read_mutations()


def test_mutations_apply_and_their_tests_exist(mutations):
    problems = {mutation.name: mutation.problem() for mutation in mutations}
    assert {name: problem for name, problem in problems.items() if problem} == {}


def test_there_are_enough_mutations_in_every_package(mutations):
    packages = {mutation.file.partition("/")[0] for mutation in mutations}
    assert packages == {
        *("topology", "routing", "controller", "emulation"),
        *("simulation", "traffic", "experiments", "polarlab"),
    }
    assert len(mutations) >= 40
    assert sum(mutation.needs_fabric for mutation in mutations) >= 8

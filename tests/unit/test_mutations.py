"""The list of mutations is of this code and these tests: what is renamed is renamed there, too."""

import pytest
from mutations import read_mutations

MUTATIONS = read_mutations()


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_applies_and_its_tests_exist(mutation):
    assert mutation.problem() is None


def test_there_are_enough_mutations_in_every_package():
    packages = {mutation.file.partition("/")[0] for mutation in MUTATIONS}
    assert packages == {
        *("topology", "routing", "controller", "emulation"),
        *("simulation", "traffic", "experiments", "polarlab"),
    }
    assert len(MUTATIONS) >= 40
    assert sum(mutation.needs_fabric for mutation in MUTATIONS) >= 8

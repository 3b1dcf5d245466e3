"""Generated attacks on fabrics of real switches, 500 inputs of each; `make fuzz` tries many more."""

import pytest
from fuzz.__main__ import attacks, run_attack

COUNT, SEED = 500, 47


@pytest.mark.parametrize("name", attacks(need_switches=True))
def test_no_generated_input_gets_through(name):
    assert run_attack(name, COUNT, SEED)[1] == []

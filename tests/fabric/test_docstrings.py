"""Examples in docstrings that need root: on one ER_2, or on fabrics of their own."""

import pytest
from support.fixtures.docstrings import LAUNCHING, ON_A_FABRIC, disagreement, examples_of

import polarlab

pytestmark = pytest.mark.usefixtures("no_leftovers")


def test_examples_on_a_fabric(tmp_path):
    with polarlab.Fabric("polarfly", q=2, link_rate="5Mbit") as fabric:
        reports = [
            disagreement(one, tmp_path)
            for name in ON_A_FABRIC
            for one in examples_of(polarlab, name, fabric=fabric)
        ]
    assert "".join(reports) == ""


def test_examples_that_launch_fabrics(tmp_path):
    reports = [disagreement(one, tmp_path) for name in LAUNCHING for one in examples_of(polarlab, name)]
    assert "".join(reports) == ""

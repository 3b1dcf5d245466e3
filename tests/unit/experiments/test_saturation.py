"""Search for saturation: the bisection, its points, and what an interrupted one has found."""

import pytest

import polarlab
from experiments.events.pace import Unthrottled
from polarlab.api.simulations import SaturationInterrupted
from topology.errors import Terminated

pytestmark = pytest.mark.usefixtures("compiled_kernels")

SHORT = {"q": 3, "hosts": 2, "warmup": 500, "cycles": 1500, "pattern": "tornado"}


@pytest.fixture(scope="module")
def found():
    """The saturation of a tornado on ER_3."""
    return polarlab.saturation("polarfly", precision=0.05, **SHORT)


def test_it_is_the_greatest_load_that_was_carried(found):
    loads = {point.load: point for point in found.points}
    assert len(loads) == len(found.points) <= 5
    assert loads[found.saturation].stable
    beyond = [load for load in loads if load > found.saturation]
    assert min(beyond) == pytest.approx(found.saturation + 0.05)
    assert not any(loads[load].stable for load in beyond)
    assert all(point.accepted >= 0.99 * point.offered - 0.02 for point in found.points if point.stable)


def test_a_network_that_carries_every_load_saturates_at_full_load():
    to_neighbours = {**SHORT, "hosts": 1, "pattern": "perm1hop", "arrivals": "constant"}
    assert polarlab.saturation("polarfly", precision=0.5, **to_neighbours).saturation == 1


def test_it_is_what_links_carry(found):
    """A link that is offered all of it is the fluid model's bound."""
    plan = polarlab.plan(polarlab.topology("polarfly", q=3), hosts=2)
    bound = 1 / polarlab.predict(plan, "tornado", 1.0).link_load_max
    assert bound - 0.1 <= found.saturation <= bound + 0.02


def test_it_is_printed_and_tabulated(found):
    pytest.importorskip("pandas")
    assert list(found.to_frame()["load"]) == [point.load for point in found.points]
    assert f"{found.saturation:g}" in repr(found)


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, Terminated])
def test_an_interrupted_search_has_the_loads_until_then(interruption):
    tried = []

    def interrupt(event):
        if event.key == "load-tried":
            tried.append(event.values["load"])
        if len(tried) == 2:
            raise interruption

    with pytest.raises(SaturationInterrupted) as ended:
        polarlab.saturation("polarfly", precision=0.05, progress=Unthrottled(interrupt), **SHORT)
    assert ended.value.result.interrupted
    assert [point.load for point in ended.value.result.points] == tried

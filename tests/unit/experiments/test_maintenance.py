"""Drains of a fabric: what is told of them, and the wait for the packets that are still there."""

from types import SimpleNamespace

import pytest

from controller.occupancy.queues import QueueState
from controller.reports import Replanned
from experiments import maintenance
from experiments.controller_reports import ControllerError
from experiments.maintenance import DrainOutcome, Maintenance
from experiments.results.parts.faults import replan_text
from topology.errors import NegativeResult, UsageError
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import CONTROLLER, Component, ComponentKind
from topology.links import LinkSpec

GRAPH = PolarFly(3)
EMPTY = QueueState(0, 0, 5000, 0)


class Controller:
    """A controller that plans for what it is asked, unless it refuses, is silent, or ends."""

    def __init__(self):
        self.running, self.drained, self.planned_drain = True, (), "none"
        self.drain_refusal, self.silent, self.refuses, self.failed = None, False, None, "none"
        self.asked = []

    def wait_until_in_charge(self):
        pass

    def catch_up(self):
        pass

    def ask_for_drain(self, elements):
        self.asked.append(tuple(elements))
        self.drained = tuple(elements)
        if self.refuses:
            self.drain_refusal = self.refuses
        elif not self.silent:
            self.planned_drain = ", ".join(name.partition(":")[2] for name in elements) or "none"

    def latest(self, kind):
        assert kind is Replanned
        return Replanned(self.failed, 30, 2, 0, (), 0.01, 0.2, self.planned_drain, 0)


@pytest.fixture
def fabric(monkeypatch):
    """A fabric without packets: its queues are read from `fabric.queues`, a reading after the other."""
    monkeypatch.setattr(maintenance, "SETTLE_S", 0.0)
    monkeypatch.setattr(maintenance, "POLL_INTERVAL_S", 0.0)
    monkeypatch.setattr(maintenance, "PLAN_TIMEOUT_S", 0.2)
    fabric = SimpleNamespace(
        options=SimpleNamespace(topology=GRAPH, links=LinkSpec(10_000_000, 32)),
        controller=Controller(),
        network=None,
        queues={},
    )

    class Reader:
        def __init__(self, number):
            self._readings = fabric.queues.get(number, [{}])

        def read(self):
            return self._readings.pop(0) if len(self._readings) > 1 else self._readings[0]

        def close(self):
            pass

    monkeypatch.setattr(
        maintenance, "open_queue_readers", lambda _network: {n: Reader(n) for n in range(1, 14)}
    )
    return fabric


def switch(router):
    return Component(ComponentKind.SWITCH, (router,))


def test_elements_are_drained_one_after_another_and_used_again(fabric):
    parts = Maintenance(fabric)
    first = parts.drain("s3", [])
    assert str(first).startswith("s3 is drained: no transit traffic; ")
    link = parts.drain("link:s1-s10", [])
    assert str(link).startswith("link:s1-s10 is drained: no traffic; ")
    assert link.drained == fabric.controller.drained == ("switch:s3", "link:s1-s10")
    assert parts.drained == tuple(parts.drain_now.components)
    both = parts.undrain()
    assert str(both).startswith("s3, link:s1-s10 are in use again; ")
    assert fabric.controller.drained == ()
    with pytest.raises(UsageError, match="nothing is drained"):
        parts.undrain()


def test_what_cannot_be_drained_changes_nothing(fabric):
    parts = Maintenance(fabric)
    for text, active_failures in (("s14", []), ("s3", [switch(2), CONTROLLER]), ("hang:s3", [])):
        with pytest.raises(UsageError):
            parts.drain(text, active_failures)
    fabric.controller.running = False
    with pytest.raises(UsageError, match="controller must run"):
        parts.drain("s3", [])
    assert fabric.controller.drained == ()


def test_a_refused_or_late_drain_is_told_and_forgotten(fabric):
    parts = Maintenance(fabric)
    fabric.controller.silent = True
    with pytest.raises(ControllerError, match="within"):
        parts.drain("s3", [])
    assert fabric.controller.asked == [("switch:s3",), ()]  # and not in force once it is less busy
    fabric.controller.refuses = "no such plan"
    with pytest.raises(NegativeResult, match="no such plan"):
        parts.drain("s3", [])
    assert fabric.controller.drained == ()


def test_a_drain_waits_until_the_packets_that_waited_have_left_the_queues(fabric):
    neighbour = int(GRAPH.neighbours(2)[0]) + 1
    ports = [port for port, other in enumerate(GRAPH.neighbours(neighbour - 1), start=1) if other == 2]
    busy = [QueueState(3, 3000, 5000 + 1000 * sent, 0) for sent in range(6)]
    fabric.queues[neighbour] = [dict.fromkeys(ports, state) for state in busy]
    # At the drained switch itself, the packets of its own hosts go on for ever.
    fabric.queues[3] = [{1: QueueState(2, 2000, 1000 * sent, 0), 2: EMPTY} for sent in range(9)]
    Maintenance(fabric).drain("s3", [])
    assert len(fabric.queues[neighbour]) == 2  # read before, and until 3000 bytes had been sent
    assert len(fabric.queues[3]) == 6


def test_a_switch_that_is_not_up_is_used_again_later(fabric):
    parts = Maintenance(fabric)
    parts.drain("s3", [])
    fabric.controller.failed = "s3, s1-s10"
    assert str(parts.undrain("s3")).startswith("s3 is not drained any more; once up, s3 is in use again; ")


def test_a_forced_drain_tells_how_many_pairs_still_cross_it():
    forced = DrainOutcome(("switch:s3",), ("switch:s3",), 3, 1, 1.0, 2.0, 3.0, crossing_pairs=8)
    assert "s3 is drained: only traffic of 8 pairs" in str(forced)


def test_plans_around_drained_elements_are_named_among_the_events_of_a_run():
    assert replan_text("none", "s3") == "the controller's plan around s3 (drained) is in place"
    assert replan_text("s1-s2", "s3") == "the controller's plan without s1-s2 around s3 (drained) is in place"
    assert replan_text("s1-s2") == "the controller's plan without s1-s2 is in place"
    assert replan_text("none") == "the controller's first plan is back"

"""What is planned when, and what goes on while it is."""

import subprocess
import sys

from controller.replanner import Recovery
from routing.registry import make_plan
from topology.families.polarfly import PolarFly
from topology.faults import link_element

GRAPH = PolarFly(3)
LINK, OTHER = GRAPH.link_list[0], GRAPH.link_list[7]


def cut(recovery, link, now_s):
    recovery.health.port_changed(link.a, link.port_a, False, now_s)


def test_what_breaks_while_a_plan_is_made_is_planned_for_next():
    recovery = Recovery(make_plan(GRAPH, 1, "min"))
    cut(recovery, LINK, 1.0)

    def slowly(function, *given):
        cut(recovery, OTHER, 2.0)
        return function(*given)

    first, other = (link_element(link).name.partition(":")[2] for link in (LINK, OTHER))
    assert recovery.plan_again(slowly).failure.name == first
    assert recovery.health.plan_due(3.0)
    assert set(recovery.plan_again().failure.name.split(", ")) == {first, other}
    assert not recovery.health.plan_due(4.0)


def test_a_link_that_is_back_while_its_plan_is_made_is_planned_for_next():
    recovery = Recovery(make_plan(GRAPH, 1, "min"))
    cut(recovery, LINK, 1.0)

    def slowly(function, *given):
        recovery.health.port_changed(LINK.a, LINK.port_a, True, 2.0)
        return function(*given)

    recovery.plan_again(slowly)
    assert recovery.health.plan_due(3.0)
    assert not recovery.plan_again().failure.any_failed


# Ends only if both go on; Ryu's adapter patches the sockets of its process, hence one of its own.
BOTH = """
import time
from controller.openflow import runtime
ticks = []
def tick():
    while True:
        ticks.append(time.monotonic())
        runtime.sleep(0.001)
def busy():
    before = len(ticks)
    while len(ticks) < before + 5:
        sum(range(1000))
    return "done"
runtime.spawn(tick)
print(runtime.call_in_thread(busy))
"""


def test_the_event_loop_goes_on_while_something_is_computed():
    done = subprocess.run(
        [sys.executable, "-c", BOTH], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "done\n", done.stderr

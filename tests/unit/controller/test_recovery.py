"""Recovery: once all switches and links are back, all ports are up and the first plan is installed."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.builders.graphs import FABRICS

from controller.fabric_state import LONGEST_HOLD_S, LOST_AFTER_S, SETTLE_S
from controller.replanner import Replanner
from routing.registry import make_plan
from topology.families.low_diameter.polarfly import PolarFly

GRAPHS = {"polarfly": PolarFly(2), "torus": FABRICS["torus"]()}
PLANS = {name: make_plan(graph, 1, "min") for name, graph in GRAPHS.items()}
QUIET_S, STEP_S = 3 * LONGEST_HOLD_S, 0.25


@dataclass
class Fabric:
    """Switches without packets, and what the controller's application does with their events."""

    name: str
    now_s: float = 0.0
    away: set = field(default_factory=set)  # switches without a connection
    empty: set = field(default_factory=set)  # those without rules
    ports_down: set = field(default_factory=set)  # ends that are administratively down
    cut: set = field(default_factory=set)  # links
    reported: dict = field(default_factory=dict)  # end -> (up, admin_down)
    computation: object = None  # of a plan
    installing: bool = False
    avoided: frozenset = frozenset()  # the switches that returned when the last plan was begun

    def __post_init__(self):
        self.graph = GRAPHS[self.name]
        self.replanner = Replanner(PLANS[self.name])
        self.state = self.replanner.state
        self.plan = PLANS[self.name]
        self.ends = {end: link for link in self.graph.link_list for end in link.ends}

    def send(self, commands):
        for command in commands:
            if command.router not in self.away:
                change = self.ports_down.add if command.down else self.ports_down.discard
                change((command.router, command.port))

    def report_ports(self):
        """Has the connected switches report their ports, until the controller changes none of them."""
        for end, link in self.ends.items():
            down = link in self.cut or not self.ports_down.isdisjoint(link.ends)
            port = (not down, end in self.ports_down)
            if end[0] not in self.away and self.reported.get(end, (True, False)) != port:
                self.reported[end] = port
                self.send(self.state.port_changed(*end, port[0], self.now_s, admin_down=port[1]))
                self.report_ports()
                return

    def step(self, ends=True):
        """The controller's loop, once; `ends` says whether a plan, or its installation, ends."""
        self.send(self.state.tick(self.now_s))
        if self.computation:
            if ends:
                self.plan = self.replanner.finish(self.computation()).plan
                self.computation, self.installing = None, True
        elif self.installing:
            self.installing = not ends
        else:
            before = self.state.returning
            self.send(self.state.admit(self.now_s))
            assert before - self.state.returning == before & self.avoided
            if self.replanner.plan_due(self.now_s):
                self.avoided = self.state.returning
                self.computation = self.replanner.begin()
        self.report_ports()

    def wait(self, seconds):
        self.now_s += seconds
        self.step()

    def run(self, steps):
        for _ in range(steps):
            self.wait(2 * SETTLE_S)

    def change_link(self, link):
        self.cut ^= {link}

    def disconnect(self, router):
        if router not in self.away:
            self.away.add(router)
            self.state.switch_disconnected(router, self.now_s)

    def connect(self, router, restarts):
        if router in self.away:
            if restarts:
                self.ports_down -= {end for end in self.ends if end[0] == router}
                self.empty.add(router)
            self.away.discard(router)
            self.state.switch_connected(router)
            self.reported |= {end: (None, None) for end in self.ends if end[0] == router}
            self.report_ports()
            self.send(self.state.release_adopted())
            if router in self.empty:
                self.send(self.state.switch_lost(router, self.now_s))

    def fill(self, router):
        if router not in self.away:
            self.empty.discard(router)
            self.state.switch_filled(router, self.now_s)

    def lose(self, router):
        self.disconnect(router)
        self.wait(LOST_AFTER_S)

    def bring_back(self, router):
        self.connect(router, True)
        self.fill(router)

    def settle(self):
        """Brings everything back, and lets time pass."""
        self.cut.clear()
        for router in range(self.graph.routers):
            self.connect(router, False)
            self.fill(router)
        until_s = self.now_s + QUIET_S
        while self.now_s < until_s:
            self.wait(STEP_S)


@pytest.mark.parametrize("name", GRAPHS)
@settings(max_examples=25)
@given(data=st.data())
def test_a_fabric_that_is_left_alone_recovers(name, data):
    fabric = Fabric(name)
    routers = st.integers(0, fabric.graph.routers - 1)
    links = st.sampled_from(fabric.graph.link_list)
    earlier = data.draw(st.lists(st.sampled_from(sorted(fabric.ends)), max_size=4))
    for end in earlier:
        fabric.ports_down.add(end)
        fabric.state.adopt(*end)
    fabric.report_ports()
    fabric.send(fabric.state.release_adopted())
    events = st.one_of(
        st.tuples(st.just("disconnect"), routers),
        st.tuples(st.just("lose"), routers),
        st.tuples(st.just("connect"), routers, st.booleans()),
        st.tuples(st.just("fill"), routers),
        st.tuples(st.just("bring_back"), routers),
        st.tuples(st.just("change_link"), links),
        st.tuples(st.just("step"), st.booleans()),
        st.tuples(st.just("wait"), st.sampled_from([0.005, 0.03, 0.15, 0.25, 1.0])),
        st.tuples(st.just("run"), st.integers(1, 12)),
    )
    for kind, *words in data.draw(st.lists(events, min_size=20, max_size=80)):
        getattr(fabric, kind)(*words)
        fabric.report_ports()
    fabric.settle()
    assert fabric.state.failure().name == "none"
    assert not fabric.state.returning
    assert not fabric.ports_down
    assert not fabric.replanner.plan_due(fabric.now_s)
    assert fabric.plan is PLANS[name]

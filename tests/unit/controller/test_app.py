"""The controller's process with fake switches: installation, lost switches, refusals, takeovers."""

import contextlib
import os
import socket
import struct
import subprocess
import sys
import threading
import time
import warnings

import pytest
from support.builders import openflow_messages
from support.fixtures.fake_switch import MULTIPART_REQUEST, OPENFLOW_13, OPENFLOW_15, FakeSwitch

from controller.fabric_state import LONGEST_HOLD_S
from controller.openflow.frameworks import FRAMEWORKS
from controller.reports import Foreign, Installed, TakingOver
from experiments import controller_process
from experiments.controller_process import ControllerProcess
from routing.plan.digest import plan_digest
from routing.plan.model import COOKIE_MARK, Table
from routing.registry import make_plan
from topology.families.low_diameter.polarfly import PolarFly

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Ryu's flags use a deprecated class for versions
    from controller.openflow.codec import fingerprint

PARAMS = {"q": 2}
GRAPH = PolarFly(**PARAMS)
PLAN = make_plan(GRAPH, 1, "min")
COOKIES = {
    switch.router + 1: {COOKIE_MARK | fingerprint(r) for r in switch.rules} for switch in PLAN.switches
}
GROUPS = {switch.router + 1: {group.number for group in switch.groups} for switch in PLAN.switches}
WAIT_S = 60  # of a busy machine; nothing waits so long otherwise


class Fabric:
    """Fake switches and the controllers that serve them, one after another."""

    def __init__(self, folder, framework, version):
        self.folder = folder
        self.framework = framework
        self.path = folder / "socket"
        degrees = GRAPH.degrees.tolist()
        self.switches = {
            r + 1: FakeSwitch(self.path, r + 1, degrees[r] + 1, version) for r in range(GRAPH.routers)
        }
        self.controller = None

    def start(self):
        """Starts a controller, to which all switches connect."""
        log = self.folder / "log"
        listen = ("polarfly", PARAMS, 1, "min", f"unix:{self.path}", log)
        self.controller = ControllerProcess(*listen, framework=self.framework)
        self.connect()
        return self.controller

    def connect(self):
        """Connects all switches, once the controller listens."""
        self.controller.wait_until_listening()
        for switch in self.switches.values():
            switch.connect()

    def stop(self):
        self.controller.stop()
        for switch in self.switches.values():
            switch.disconnect()

    def eventually(self, condition):
        deadline = time.monotonic() + WAIT_S
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.01)
            self.controller.catch_up()

    def warned(self, text, action):
        """Repeats an action until the controller warns of it: of very many it reports one a second."""
        known = len(self.controller.warnings)

        def reported():
            action()
            self.controller.catch_up()
            return any(text in warning for warning in self.controller.warnings[known:])

        self.eventually(reported)

    def neighbours(self, datapath_id):
        links = [(link.a + 1, link.b + 1) for link in GRAPH.link_list]
        return [self.switches[a + b - datapath_id] for a, b in links if datapath_id in (a, b)]


def holds_plan(switch):
    """Whether a switch holds the rules and groups of its plan and nothing else."""
    number = switch.datapath_id
    return (set(switch.rules.values()), switch.groups.keys()) == (COOKIES[number], GROUPS[number])


SPOKEN = [("ryu", OPENFLOW_15), ("os-ken", OPENFLOW_15), ("os-ken", OPENFLOW_13)]


@pytest.fixture(scope="module", params=SPOKEN, ids=str)
def framework(request):
    """Each framework that is installed, with switches of both versions of OpenFlow."""
    if not FRAMEWORKS[request.param[0]].installed:
        pytest.skip(f"{request.param[0]} is not installed")
    return request.param


@pytest.fixture(scope="module")
def make_fabric(tmp_path_factory, framework):
    made = []

    def make():
        made.append(Fabric(tmp_path_factory.mktemp("fabric"), *framework))
        made[-1].start().wait_until_installed(GRAPH.routers, lambda *_counts: None)
        return made[-1]

    with pytest.MonkeyPatch.context() as patch:
        # Without the mark by which a fabric's clean-up finds, and kills, the processes of others.
        patch.setattr(controller_process, "marked_environment", lambda extra: os.environ | extra)
        yield make
        for fabric in made:
            fabric.stop()


@pytest.fixture(scope="module")
def shared(make_fabric):
    return make_fabric()


def test_every_switch_gets_the_rules_and_groups_of_its_plan(shared):
    assert shared.controller.latest(Installed).switches == 7
    shared.controller.check_plan(plan_digest(PLAN))
    assert all(holds_plan(switch) for switch in shared.switches.values())


def test_a_lost_switch_is_planned_around_and_filled_when_it_is_back(shared):
    lost, replans = shared.switches[1], shared.controller.replans
    known = len(replans)
    lost.disconnect()
    shared.eventually(lambda: len(replans) > known)
    assert replans[known].failed == "s1"
    shared.eventually(lambda: all(len(switch.ports_down) == 1 for switch in shared.neighbours(1)))
    lost.rules.clear()
    lost.groups.clear()
    lost.connect()
    shared.eventually(lambda: all(holds_plan(switch) for switch in shared.switches.values()))
    shared.eventually(lambda: not any(switch.ports_down for switch in shared.switches.values()))


def test_a_switch_that_restarts_unnoticed_is_filled_again_and_returns(shared):
    replans = shared.controller.replans
    known = len(replans)
    shared.switches[4].restart()
    shared.eventually(lambda: "s4" in {plan.failed for plan in replans[known:]})
    shared.eventually(lambda: replans[-1].failed == "none")
    assert holds_plan(shared.switches[4])


def test_a_link_that_is_held_after_its_flaps_is_reported_with_the_time(shared):
    link = GRAPH.link_list[0]
    name, switch, controller = f"s{link.a + 1}-s{link.b + 1}", shared.switches[link.a + 1], shared.controller
    for down in 3 * (True, False):
        switch.set_link(link.port_a, down=down)
    shared.eventually(lambda: controller.held_until_s)
    assert 0 < controller.held_until_s[name] - time.monotonic() <= LONGEST_HOLD_S
    assert controller.failed_now == name
    shared.eventually(lambda: controller.settled and controller.failed_now == "none")
    assert (controller.held_until_s, controller.planned_failure) == ({}, "none")


def test_a_foreign_switch_gets_nothing(shared):
    foreign = FakeSwitch(shared.path, 77, 3)
    foreign.connect()
    shared.controller.wait_for(Foreign, timeout_s=WAIT_S)
    foreign.disconnect()
    assert foreign.changes == 0


def test_a_switch_with_very_many_stale_rules_gets_its_plan(shared):
    """One by one, their deletions held the controller for seconds and did not fit into a connection."""
    crowded = shared.switches[5]
    crowded.disconnect()
    crowded.rules |= {(Table.MINIMAL, 1, number): COOKIE_MARK | 1 << 40 | number for number in range(100_000)}
    crowded.connect()
    shared.eventually(lambda: holds_plan(crowded))
    assert crowded.changes < 1000


def test_a_refused_rule_is_reported_with_its_switch_and_the_reason(shared):
    stubborn = shared.switches[6]
    stubborn.refuses_rules = True
    stubborn.restart()
    shared.eventually(lambda: shared.controller.refusals)
    assert all(text in shared.controller.refusals[0] for text in ("s6 ", "TABLE_FULL", "Rule(table="))
    stubborn.refuses_rules = False
    stubborn.restart()
    shared.eventually(lambda: holds_plan(stubborn))


def test_the_next_controller_takes_over_without_a_change(make_fabric):
    fabric = make_fabric()
    fabric.stop()
    second = fabric.start()
    second.wait_for(TakingOver, timeout_s=WAIT_S)
    second.wait_for(Installed, timeout_s=WAIT_S)
    assert not any(map(len, (second.replans, second.warnings, second.refusals)))
    assert [switch.changes for switch in fabric.switches.values()] == [0] * 7


def test_the_next_controller_reports_its_return_to_the_first_plan(make_fabric):
    """A link that the plan of the controller before it avoided is restored while there is no controller."""
    fabric = make_fabric()
    fabric.switches[1].set_link(1, down=True)
    fabric.eventually(lambda: fabric.controller.replans)
    fabric.stop()
    fabric.switches[1].links_down.clear()
    second = fabric.start()
    second.wait_for(Installed, timeout_s=WAIT_S)
    assert [(plan.failed, plan.rules > 0) for plan in second.replans] == [("none", True)]


def test_the_next_controller_mends_rules_leaves_foreign_ones_and_frees_ports(make_fabric):
    """The controller before it died while a switch was lost and its neighbours' ports were down."""
    fabric = make_fabric()
    fabric.switches[1].disconnect()
    fabric.eventually(lambda: all(switch.ports_down for switch in fabric.neighbours(1)))
    fabric.stop()
    foreign = (0, 999, b"match of another program")
    fabric.switches[3].rules[foreign] = 0x77
    mended = fabric.switches[5]
    mended.rules.pop(next(key for key in mended.rules if key[0] == Table.MINIMAL))
    second = fabric.start()
    fabric.eventually(lambda: second.warnings)
    fabric.eventually(lambda: not any(switch.ports_down for switch in fabric.switches.values()))
    assert "s3 " in second.warnings[0]
    assert fabric.switches[3].rules[foreign] == 0x77
    del fabric.switches[3].rules[foreign]
    fabric.eventually(lambda: all(holds_plan(switch) for switch in fabric.switches.values()))


def test_ports_whose_switches_lost_their_notes_are_freed_by_the_next_controller(shared):
    """Neighbours of a lost switch restart before there is a controller again; their ports stay down."""
    shared.switches[1].disconnect()
    shared.eventually(lambda: all(len(switch.ports_down) == 1 for switch in shared.neighbours(1)))
    shared.stop()
    for switch in shared.neighbours(1):
        switch.rules.clear()
        switch.groups.clear()
    shared.controller.start()
    shared.connect()
    shared.eventually(lambda: not any(switch.ports_down for switch in shared.switches.values()))
    shared.eventually(lambda: all(holds_plan(switch) for switch in shared.switches.values()))
    shared.eventually(lambda: not shared.controller.ports_down)


def connection(fabric, *sent):
    """Connects to the controller and sends some bytes."""
    opened = socket.socket(socket.AF_UNIX)
    opened.connect(str(fabric.path))
    opened.settimeout(WAIT_S)
    for piece in sent:
        opened.sendall(piece)
    return opened


def read_to_the_end(opened):
    """Returns what a connection brings until the controller closes it."""
    with opened, contextlib.suppress(ConnectionResetError):
        return b"".join(iter(lambda: opened.recv(65536), b""))


def is_served(fabric, switch):
    """Whether a switch gets what it lacks."""
    switch.restart()
    fabric.eventually(lambda: holds_plan(switch))
    return fabric.controller.running


def greeted(version, datapath_id):
    return openflow_messages.hello(version) + openflow_messages.features(version, datapath_id)


def ported(version):
    return openflow_messages.multipart(version, 13)


# Each kept the framework's parser in a loop, or ended the controller.
ATTACKS = {
    "hello's element": lambda version: openflow_messages.HANGING,
    "rule": lambda version: greeted(version, 7) + openflow_messages.multipart(version, 1, bytes(56)),
    "group": lambda version: greeted(version, 7) + openflow_messages.multipart(version, 7, bytes(16)),
    "table's features": lambda version: (
        greeted(version, 7) + openflow_messages.multipart(version, 12, bytes(72))
    ),
    "port's properties": lambda version: (
        greeted(version, 7) + openflow_messages.multipart(version, 13, struct.pack("!IH", 1, 48) + bytes(42))
    ),
    "counters": lambda version: greeted(version, 7) + openflow_messages.multipart(version, 4, bytes(80)),
    "ports before features": lambda version: openflow_messages.hello(version) + ported(version),
    "experimenter's error": lambda version: (
        greeted(version, 7)
        + ported(version)
        + openflow_messages.message(version, 1, struct.pack("!HHI", 0xFFFF, 0, 0))
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_lengths_within_a_message_do_not_stop_the_controller(shared, framework, attack):
    with connection(shared, ATTACKS[attack](framework[1])):
        assert is_served(shared, shared.switches[2])


def test_why_a_connection_was_closed_is_reported(shared):
    shared.warned("length", lambda: read_to_the_end(connection(shared, openflow_messages.HANGING)))


def test_a_description_without_a_request_ends_the_connection(shared, framework):
    attack = greeted(framework[1], 77) + openflow_messages.multipart(framework[1], 7)
    shared.warned("not requested", lambda: read_to_the_end(connection(shared, attack)))


def test_a_second_connection_cannot_take_a_switchs_place(shared, framework):
    version = framework[1]
    barriers = b"".join(openflow_messages.message(version, 21, xid=xid) for xid in range(100))

    def attack():
        received = read_to_the_end(connection(shared, greeted(version, 3) + ported(version) + barriers))
        assert not {14, 15} & set(openflow_messages.kinds(received))  # neither rules nor groups
        assert is_served(shared, shared.switches[3])

    shared.warned("s3", attack)


@pytest.mark.parametrize("claimed", [4, 99], ids=["of another switch", "of none"])
def test_a_switch_cannot_change_its_number(shared, framework, claimed):
    version = framework[1]
    shared.switches[3].disconnect()
    pretended = greeted(version, 3) + ported(version)
    shared.warned(
        "must stay", lambda: read_to_the_end(connection(shared, pretended, changed(version, claimed)))
    )
    assert shared.switches[4].connected
    assert is_served(shared, shared.switches[3])
    assert is_served(shared, shared.switches[4])


def changed(version, datapath_id):
    return openflow_messages.features(version, datapath_id) + openflow_messages.message(version, 21)


@pytest.mark.parametrize(("kind", "size"), [(2, 1000), (4, 8)], ids=["echo requests", "dropped messages"])
def test_a_flood_leaves_the_others_served(shared, framework, kind, size):
    """Messages without an end, whose answers the switch that sends them never takes."""
    version = framework[1]
    stop = threading.Event()
    with connection(shared, greeted(version, 77)) as flood:
        messages = 64 * openflow_messages.message(version, kind, bytes(size))

        def send():
            with contextlib.suppress(OSError):
                while not stop.is_set():
                    flood.sendall(messages)

        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        assert is_served(shared, shared.switches[4])
        stop.set()
        flood.shutdown(socket.SHUT_RDWR)
        sender.join()


def test_answers_are_not_kept_for_a_connection_that_is_not_served(shared, framework):
    echo = openflow_messages.message(framework[1], 2, bytes(60_000))

    def send_on(deaf):
        for _ in range(50):  # one after another, or all would be answered at once
            deaf.sendall(echo)
            time.sleep(0.02)

    with connection(shared, greeted(framework[1], 77)) as deaf, pytest.raises(OSError, match=r"pipe|reset"):
        send_on(deaf)


def test_connections_that_stop_at_a_switchs_number_close_no_other(shared, framework):
    opened = []

    def open_one():
        opened.append(connection(shared, greeted(framework[1], 3)))
        received = b""
        while MULTIPART_REQUEST not in openflow_messages.kinds(received):  # for its ports; no answer
            received += opened[-1].recv(4096)

    for _ in range(100):
        open_one()
    shared.warned("open connections", open_one)
    assert all(switch.connected for switch in shared.switches.values())
    for one in opened:
        one.close()


def is_open(opened):
    """Whether the controller has not closed a connection."""
    opened.setblocking(False)
    try:
        while opened.recv(4096):
            pass
    except BlockingIOError:
        return True
    except ConnectionResetError:
        pass
    return False


def test_many_silent_connections_do_not_keep_a_switch_out(shared):
    """A random one makes room: the oldest may be a slow switch's, and the newest that of one that returns."""
    opened = [connection(shared) for _ in range(300)]
    shared.warned("open connections", lambda: opened.append(connection(shared)))
    assert is_served(shared, shared.switches[5])
    assert 0 < sum(map(is_open, opened[:-100])) < 40  # 17 of 71 on average; 0 or 71 without chance
    for one in opened:
        one.close()


FLOOD = """
import collections, contextlib, socket, sys
path, hello = sys.argv[1], bytes.fromhex(sys.argv[2])
kept = collections.deque(maxlen=300)
for number in range(10**9):
    kept.append(socket.socket(socket.AF_UNIX))
    kept[-1].connect(path)
    with contextlib.suppress(OSError):  # its place is another's already
        kept[-1].sendall(hello)
    if number == 300:
        print("begun", flush=True)
"""


@contextlib.contextmanager
def flooded(fabric, version):
    """Opens one connection after another during the block, each of which only says hello."""
    words = [str(fabric.path), openflow_messages.hello(version).hex()]
    command = [sys.executable, "-W", "ignore", "-c", FLOOD, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as flood:
        try:
            flood.stdout.readline()
            yield
        finally:
            flood.kill()


def test_a_flood_of_connections_does_not_keep_a_switch_out(shared, framework):
    returning = shared.switches[5]

    def is_back():
        if not returning.connected:
            returning.restart()
        return holds_plan(returning)

    with flooded(shared, framework[1]):
        returning.restart()
        shared.eventually(is_back)
    assert is_served(shared, returning)

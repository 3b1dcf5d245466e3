"""Measurements on a real fabric have it for themselves, and begin on one whose state is known."""

import os
import threading
import time
from http import HTTPStatus
from pathlib import Path

import pytest
from conftest import eventually
from support.fixtures.taken_over_page import taken_over, web_processes
from support.fixtures.web_requests import ask

import polarlab
from topology.addressing import switch_name

pytestmark = [pytest.mark.fabric, pytest.mark.xdist_group("web")]

LINK = "link:s1-s6"


@pytest.fixture(scope="module")
def fabric(tmp_path_factory):
    """ER_2 under ugal-pf with its page, in a folder of its own; its pairs are checked."""
    os.chdir(tmp_path_factory.mktemp("alone"))
    with polarlab.Fabric("polarfly", q=2, routing="ugal-pf", web="0") as up:
        up.traffic(load=0.05, duration=0.2, warmup=0.1)
        yield up


@pytest.fixture(autouse=True)
def mended(fabric):
    """Mends the fabric behind every test."""
    yield
    fabric.progress = print
    fabric.host("s1").run("ip link set s1-eth1 up")
    fabric.restore("all")
    fabric.session.fabric.controller.wait_until_recovered(30)


def in_background(function, *arguments):
    """Calls a function in a thread; returns the thread, and the list that gets its result."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function(*arguments)), daemon=True)
    thread.start()
    return thread, results


def at_the_start(fabric, look):
    """Calls a function once when traffic starts; returns the list that gets its result."""
    seen = []
    fabric.progress = lambda event: seen.append(look()) if "traffic at" in str(event) and not seen else None
    return seen


def test_verbs_and_probes_are_refused_while_something_is_measured(fabric):
    refused = []

    def try_all():
        for verb in (
            lambda: fabric.fail(LINK),
            lambda: fabric.drain("s3"),
            lambda: fabric.start_traffic("uniform", 0.05),
            lambda: fabric.set_routing(threshold=0.5),
            fabric.kill_controller,
            lambda: fabric.path("s1", "s6"),
            lambda: fabric.traffic(load=0.05, duration=1),
        ):
            with pytest.raises(polarlab.UsageError, match="to itself") as caught:
                verb()
            refused.append(str(caught.value))
        assert fabric.tables("s1").flows
        assert fabric.loads(0.1)

    tried = at_the_start(fabric, lambda: in_background(try_all)[0])
    run = fabric.traffic(load=0.05, duration=2, warmup=0.1)
    tried[0].join(30)
    assert len(refused) == 7
    assert all("\n" not in text and "stop" in text for text in refused)
    assert run.summary.faults is None


def hold_down(fabric):
    """Has the controller hold a link down for some seconds, by requests to the page.

    A link that goes down three times within 10 s is held for 0.5 s, and each further time for twice as long.
    """
    controller = fabric.session.fabric.controller
    end_s, held_s = time.monotonic() + 40, 0.0
    while held_s < 0.6:
        assert time.monotonic() < end_s, "the controller did not hold the link"
        for verb in ("fail", "restore"):
            status, answer = ask(fabric.url, "POST", f"api/{verb}", {"elements": LINK})
            assert status == HTTPStatus.OK, answer
            time.sleep(0.12)
        began_s = time.monotonic()
        while fabric.controller().planned_failure != "none" or controller.ports_down:
            time.sleep(0.02)
            assert time.monotonic() < began_s + 30
        held_s = time.monotonic() - began_s
    for verb in ("fail", "restore"):
        assert ask(fabric.url, "POST", f"api/{verb}", {"elements": LINK})[0] == HTTPStatus.OK
        time.sleep(0.12)


def test_a_measurement_begins_once_no_link_is_held_down_any_more(fabric):
    hold_down(fabric)
    assert fabric.failures == ()
    planned = at_the_start(fabric, lambda: fabric.controller().planned_failure)
    run = fabric.traffic(load=0.05, duration=0.3, warmup=0.1)
    assert planned == ["none"]
    assert not any("s1-s6" in reason for reason in run.summary.fidelity.reasons)


def test_a_port_is_up_again_though_its_switch_restarted_while_there_was_no_controller(fabric):
    """The switch has lost the note that the controller had set its port down."""
    topology = fabric.session.fabric.options.topology
    fabric.hang("s3")
    near = {switch_name(int(router)) for router in topology.neighbours(2)}
    controller = fabric.session.fabric.controller
    eventually(lambda: controller.catch_up() or {switch for switch, _ in controller.ports_down} == near)
    fabric.kill_controller()
    for switch in near:
        fabric.hang(switch)
    fabric.restore("all")
    eventually(lambda: controller.catch_up() or not controller.ports_down)
    assert fabric.session.interfaces_down() == ()
    fabric.traffic(load=0.05, duration=0.3, warmup=0.1)


def pulled_for_a_moment(switch):
    """Sets a port of a switch down for half a second, by commands that no verb knows of."""
    switch.run("ip link set s1-eth1 down")
    time.sleep(0.5)
    switch.run("ip link set s1-eth1 up")


def test_a_link_that_somebody_else_set_down_is_named(fabric):
    switch = fabric.host("s1")
    assert switch.run("ip link set s1-eth1 down").status == 0
    eventually(lambda: fabric.controller().planned_failure != "none")
    name = fabric.controller().planned_failure
    began_s = time.monotonic()
    stop = threading.Timer(1, fabric.stop_measurement)
    stop.start()
    with pytest.raises(KeyboardInterrupt):  # it waits, and can be stopped
        fabric.traffic(load=0.05, duration=0.3)
    assert time.monotonic() < began_s + 25
    stop.join()
    switch.run("ip link set s1-eth1 up")
    schedule = Path("schedule.txt")
    schedule.write_text("0.3 fail link:s1-s6\n", encoding="utf-8")
    at_the_start(fabric, lambda: in_background(pulled_for_a_moment, switch))
    run = fabric.traffic(load=0.05, duration=1.5, warmup=0.1, faults=schedule)
    assert not run.summary.fidelity.valid
    assert any(name in reason for reason in run.summary.fidelity.reasons)


def test_an_adaptive_fabric_is_not_measured_without_its_controller(fabric):
    fabric.kill_controller()
    began_s = time.monotonic()
    with pytest.raises(polarlab.UsageError, match="controller"):
        fabric.traffic(load=0.05, duration=0.3)
    assert time.monotonic() < began_s + 20  # it does not wait for an answer that never comes
    fabric.start_controller()


@pytest.mark.parametrize("failure", ["hang:s3", pytest.param("switch:s3", marks=pytest.mark.slow)])
def test_a_fabric_is_measured_while_a_switch_does_not_run(fabric, failure):
    fabric.fail(failure)
    run = fabric.traffic(load=0.05, duration=0.5, warmup=0.1)
    assert run.summary.packets.received
    assert [fault.fault for fault in run.summary.faults.done] == [f"fail {failure}"]


@pytest.mark.parametrize("by", ["page", pytest.param("program", marks=pytest.mark.slow)])
def test_a_measurement_of_the_page_can_be_stopped_and_keeps_what_it_measured(fabric, by):
    started = at_the_start(fabric, lambda: True)
    request = {"pattern": "uniform", "load": 0.05, "duration": 3600, "warmup": 0}
    thread, answers = in_background(ask, fabric.url, "POST", "api/results", request)
    eventually(lambda: started)
    time.sleep(1)
    with pytest.raises(polarlab.UsageError, match="the page"):
        fabric.traffic(load=0.05, duration=1)
    if by == "page":
        assert ask(fabric.url, "DELETE", "api/results")[0] == HTTPStatus.OK
    else:
        fabric.stop_measurement()
    thread.join(50)
    [(status, answer)] = answers
    assert status == HTTPStatus.OK, answer
    summary = polarlab.Run(next(Path().rglob(answer["name"]))).summary
    assert summary.interrupted
    assert summary.packets.received
    with pytest.raises(polarlab.UsageError, match="being measured"):
        fabric.stop_measurement()


@pytest.mark.slow
def test_the_page_cannot_stop_what_the_program_measures(fabric):
    answers = at_the_start(fabric, lambda: in_background(ask, fabric.url, "DELETE", "api/results"))
    run = fabric.traffic(load=0.05, duration=1, warmup=0.1)
    thread, statuses = answers[0]
    thread.join(30)
    assert statuses[0][0] == HTTPStatus.BAD_REQUEST
    assert not run.summary.interrupted


def test_requests_that_wait_at_the_page_do_not_run_in_a_measurement(fabric):
    """The last test of its fabric: its web process has lost its channel."""
    [process] = web_processes()
    turns, before = fabric.session.turns, fabric.failures
    measuring = threading.Thread(target=lambda: fabric.traffic(load=0.05, duration=0.5, warmup=0.1))
    with taken_over(process) as channel:
        with turns.verb():  # which those of the page wait for, and so does the measurement
            numbers = [channel.ask(verb, {"elements": LINK}) for verb in ["fail", "restore"] * 15]
            measuring.start()
            eventually(lambda: turns.measuring)
        measuring.join()
        statuses = {answer["status"] for answer in channel.answers(numbers)}
    assert HTTPStatus.CONFLICT in statuses
    assert HTTPStatus.OK not in statuses
    assert fabric.failures == before


def _schedule(text):
    path = os.path.abspath("schedule.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{text}\n")
    return path

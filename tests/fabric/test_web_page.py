"""The live page of real fabrics, in a real browser: watched, broken, mended, measured and replayed."""

import os
import re
import signal
import threading
import zipfile
from io import BytesIO

import pytest
from conftest import eventually
from support.fixtures.browser import browser, needs_browser
from support.fixtures.taken_over_page import web_processes
from support.fixtures.web_requests import ask, fetch

import polarlab

pytestmark = [pytest.mark.fabric, pytest.mark.xdist_group("web"), needs_browser]


@pytest.fixture(scope="module")
def fabric(tmp_path_factory):
    """ER_3 under ugal-pf with two hosts a router, on links that leave a browser its time, and its page."""
    os.chdir(tmp_path_factory.mktemp("page"))  # for folders of results
    with polarlab.Fabric("polarfly", q=3, hosts=2, link_rate="500kbit", routing="ugal-pf", web="0") as up:
        yield up


@pytest.fixture(scope="module")
def page(fabric):
    """A browser that shows it."""
    with browser() as shown:
        shown.open(fabric.url)
        yield shown
        assert shown.errors() == []


@pytest.fixture(autouse=True)
def mended(fabric):
    """Mends the fabric behind every test, also one that failed in the middle."""
    yield
    fabric.restore("all")
    if fabric.traffic_status() is not None:
        fabric.stop_traffic()
    fabric.session.fabric.controller.wait_until_recovered(10)


def test_a_link_is_cut_by_a_click_and_packets_go_around_it(fabric, page):
    assert "proven before installation: 650 pairs of hosts" in page.text("facts")
    page.click_drawn("link:s1-s10")
    page.wait(lambda: page.text("selected-name") == "link s1-s10")
    page.press("cut")
    page.wait(lambda: page.dead() == {"s1-s10"})
    assert fabric.host("h1_1").run("ping -c 3 -i 0.2 h10_1").status == 0
    page.wait(
        lambda: re.search(
            "repaired by(switches|the controller|nothing was lost)", page.text("incident-facts")
        )
    )
    page.wait(lambda: "the controller's plan without s1-s10 is in place" in page.text("entries"))
    assert "port 1 of s1 (s1-s10) is down" in page.text("entries")
    page.press("restore")
    page.wait(lambda: not page.dead())
    page.wait(lambda: "fully recovered" in page.text("entries"))


def test_a_switch_without_power_is_shown_with_its_links(fabric, page):
    page.find("s4")
    page.press("power off")
    dead = set(page.run("return cy.$('#s4').connectedEdges().map((one) => one.data('name'))"))
    page.wait(lambda: page.dead() == dead)
    page.wait(lambda: page.run("return cy.$('#s4').hasClass('failed')"))
    page.press("power on")
    page.wait(lambda: not page.dead())
    page.wait(lambda: not page.run("return cy.$('#s4').hasClass('failed')"))


def test_the_controller_is_killed_and_started_again(fabric, page):
    page.run("document.getElementById('controller').open = true")
    page.press("kill", within="controller-actions")
    page.wait(lambda: page.text("controller-state").startswith("killed"))
    assert not fabric.session.fabric.controller.running
    page.press("start", within="controller-actions")
    page.wait(lambda: page.text("controller-state").startswith("running"))
    assert "the controller is killed" in page.text("entries")


@pytest.mark.slow  # the next test shows detours, and another one the traffic
def test_a_tornado_under_ugal_pf_takes_detours(fabric, page):
    page.run(
        "document.getElementById('traffic-pattern').value = 'tornado';"
        "document.getElementById('traffic-load').value = 0.9"
    )
    page.press("start", within="traffic-form")
    page.wait(lambda: re.search(r"tornado offered 0\.[89]", page.text("traffic-state")))
    found = page.wait(lambda: re.search(r", ([\d.]+) % of buckets on detours", page.text("traffic-state")))
    page.wait(lambda: float(re.search(r"([\d.]+) % of buckets", page.text("traffic-state"))[1]) > 1)
    assert found
    assert page.wait(lambda: page.text("validity") not in ("", "nothing is being measured"))
    page.press("stop", within="traffic-form")
    page.wait(lambda: "tornado traffic ended" in page.text("entries"))


def set_field(page, name, value):
    """Types a value into a field of the page, by its id."""
    page.run(
        "const field = document.getElementById(arguments[0]); field.value = arguments[1];"
        "field.dispatchEvent(new Event('change'))",
        name,
        str(value),
    )


def measured(page):
    """Returns the names of the folders of results that the page offers."""
    return set(page.run("return [...document.querySelectorAll('#results a')].map((one) => one.textContent)"))


def detoured(page):
    """Returns the share of buckets on detours that the page shows, in percent; None before it shows any."""
    found = re.search(r", ([\d.]+) % of buckets", page.text("traffic-state"))
    return float(found[1]) if found else None


@pytest.mark.tried_again
def test_a_lower_threshold_makes_detours_and_a_higher_one_ends_them(fabric, page):
    rules = [fabric.tables(switch).flows for switch in ("s1", "s7")]
    page.run("document.getElementById('routing').open = true")
    set_field(page, "traffic-pattern", "tornado")
    set_field(page, "traffic-load", 0.23)  # a tenth below what minimal paths carry: some packets wait
    page.press("start", within="traffic-form")
    page.wait(lambda: detoured(page) is not None)
    set_field(page, "routing-threshold", 0.05)
    page.press("change", within="routing-form")
    page.wait(lambda: page.text("routing-name") == "ugal-pf:threshold=0.05")
    page.wait(lambda: detoured(page) > 0.1)
    set_field(page, "routing-threshold", 1)
    set_field(page, "routing-rest-returned", 2)
    page.press("change", within="routing-form")
    page.wait(lambda: detoured(page) == 0)
    assert fabric.routing().name == "ugal-pf:threshold=1,rest-returned=2"
    assert "the routing is ugal-pf:threshold=0.05 from now on" in page.text("entries")
    assert [len(fabric.tables(switch).flows) for switch in ("s1", "s7")] == [len(one) for one in rules]
    fabric.kill_controller()
    with pytest.raises(polarlab.UsageError, match="controller"):
        fabric.set_routing(threshold=0.5)
    fabric.start_controller()
    assert fabric.routing().values["threshold"] == 1  # a controller that is started again keeps it
    page.press("stop", within="traffic-form")
    page.press("as launched", within="routing-form")
    page.wait(lambda: page.text("routing-name") == "ugal-pf")


def test_results_name_the_parameters_that_held(fabric, tmp_path):
    assert fabric.set_routing(threshold=0.4).name == "ugal-pf:threshold=0.4"
    started = threading.Event()
    fabric.progress = lambda event: started.set() if "tornado traffic" in str(event) else None
    refused = []

    def change():
        started.wait(30)
        refused.append(ask(fabric.url, "POST", "api/routing", {"parameters": "threshold=0.5"}))

    thread = threading.Thread(target=change)
    thread.start()
    run = fabric.traffic(pattern="tornado", load=0.1, duration=1, warmup=0.5, out=tmp_path / "run")
    thread.join()
    assert refused[0][0] == 409
    assert "to itself" in refused[0][1]["error"]
    assert run.summary.routing == "ugal-pf:threshold=0.4"
    assert run.manifest.routing == "ugal-pf:threshold=0.4"
    fabric.set_routing(threshold="2/3")
    assert fabric.routing().name == "ugal-pf"


def test_a_collective_is_measured_and_its_progress_shown(page, tmp_path):
    set_field(page, "traffic-pattern", "allreduce:ring")
    set_field(page, "traffic-message-bytes", "32KiB")
    set_field(page, "traffic-iterations", 2)
    before = measured(page)
    page.press("measure", within="traffic-form")
    page.wait(lambda: re.search(r"allreduce:ring of 26 ranks: [\d.]+ % of its messages", collective(page)))
    page.wait(lambda: float(re.search(r"ranks: ([\d.]+) %", collective(page))[1]) > 20)
    assert "measured" in page.text("traffic-state")
    page.wait(lambda: page.run("return document.getElementById('collective').hidden"))
    name = page.wait(lambda: measured(page) - before).pop()
    page.wait(lambda: f"measured: {name}" in page.text("entries"))
    run = polarlab.open_results(f"results/{name}")
    assert run.summary.collective.algorithm == "ring"
    assert run.summary.collective.ranks == 26
    set_field(page, "traffic-pattern", "uniform")


def collective(page):
    """Returns the words on the collective that is measured."""
    return page.text("collective-text") or "ranks: 0 %"


def test_the_traffic_that_runs_tells_its_longest_silence(fabric, page):
    set_field(page, "traffic-pattern", "tornado")
    set_field(page, "traffic-load", 0.3)
    page.press("start", within="traffic-form")
    page.wait(lambda: page.text("traffic-state").startswith("tornado offered"))
    page.wait(lambda: page.text("validity") not in ("", "nothing is being measured"))
    wrong = ask(fabric.url, "POST", "api/traffic", {"pattern": "tornadoo"})
    assert wrong[0] == 400
    assert "tornado" in wrong[1]["error"]
    assert "traffic is already running" in ask(fabric.url, "POST", "api/traffic", {})[1]["error"]
    page.find("S4")  # in capitals as well
    page.press("hang")
    page.wait(lambda: page.text("selected-text").startswith("hangs: its program is dead"))
    page.wait(lambda: "traffic's longest silence" in page.text("incident-facts"))
    page.press("start its program")
    page.wait(lambda: page.text("selected-text").startswith("up"))
    told = r"the traffic's longest silence since then: [\d.]+ ms, h\d+_\d to h\d+_\d \(before: [\d.]+ ms\)"
    page.wait(lambda: re.search(told, page.text("entries")))
    page.press("stop", within="traffic-form")
    page.wait(lambda: "tornado traffic ended" in page.text("entries"))


def test_what_has_failed_cannot_fail_again(fabric):
    assert ask(fabric.url, "POST", "api/fail", {"elements": "link:s1-s10"})[0] == 200
    again = ask(fabric.url, "POST", "api/fail", {"elements": "link:s1-s10"})
    assert again == (400, {"error": "link:s1-s10 has failed already"})


def test_what_is_drawn_fails_and_is_drawn_anew_for_the_next(fabric):
    drawn = [ask(fabric.url, "POST", "api/fail", {"elements": "random:2"}) for _ in range(2)]
    assert [status for status, _ in drawn] == [200, 200]
    first, second = ({*body["elements"]} for _, body in drawn)
    assert first != second
    assert {*fabric.failures} >= first | second
    status, body = ask(fabric.url, "POST", "api/restore", {"elements": "random:2"})
    assert (status, {*body["elements"]}) == (200, second)


def test_a_host_is_found_though_hosts_are_not_drawn(page):
    page.find("h4_1")
    page.wait(lambda: page.text("selected-name") == "host h4_1")


def test_a_look_inside_a_switch(fabric, page):
    page.find("s3")
    page.wait(lambda: "adaptive groups: where their buckets point" in page.text("selected-details"))
    assert "table 0 (ingress)" in page.text("selected-details")
    assert "n_packets=" in page.text("selected-details")
    assert "(minimal)" in page.text("selected-details")


def test_the_path_between_two_places_is_explained(page):
    page.run(
        "document.getElementById('paths').open = true;"
        "for (const [name, value] of [['source', 's1'], ['destination', 's5'], ['without', 'link:s1-s12']])"
        "  document.getElementById(`path-${name}`).value = value"
    )
    page.press("show", within="path-form")
    page.wait(lambda: "cross product" in page.text("path-result"))
    assert "s1 → s12 → s5 (100.00 %)" in page.text("path-result")
    assert "if these fail" in page.text("path-result")
    assert page.run("return cy.edges('.path').length") >= 2


def test_what_is_measured_can_be_downloaded_and_replayed(fabric, page, tmp_path):
    before = measured(page)
    set_field(page, "traffic-duration", 3)
    set_field(page, "traffic-load", 0.2)
    page.press("measure", within="traffic-form")
    page.wait(lambda: "is measured for 3 s" in page.text("entries"))
    assert ask(fabric.url, "POST", "api/fail", {"elements": "link:s1-s10"})[0] == 409
    assert ask(fabric.url, "GET", "api/switches/s3")[0] == 200  # looks go on
    page.wait(lambda: " offered " in page.text("traffic-state"))
    name = page.wait(lambda: measured(page) - before).pop()
    zipfile.ZipFile(BytesIO(fetch(fabric.url, f"api/results/{name}")[1])).extractall(tmp_path)
    run = polarlab.open_results(tmp_path / name)
    assert run.summary.measured_s == pytest.approx(3, abs=0.1)
    with polarlab.watch(run, web=None) as url:  # a unit test has a browser
        eventually(lambda: ask(url, "GET", "api/recording")[0] == 200)  # the page has received it
        states = ask(url, "GET", "api/recording")[1]
    assert len(states) > 6
    assert any(state["traffic"] for state in states)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("POST", "api/fail", {"elements": "link:s1-s99"}, 400, "s99"),
        ("POST", "api/fail", {"elements": "$(reboot)"}, 400, ""),
        ("POST", "api/drain", {"elements": "nothing"}, 400, ""),
        ("POST", "api/traffic", {"pattern": "x"}, 400, "x"),
        ("POST", "api/traffic", {"load": 2}, 400, "load"),
        ("DELETE", "api/traffic", None, 400, "no background traffic"),
        ("POST", "api/restore", {"elements": "link:s1-s10"}, 400, "has not failed"),
        ("POST", "api/restore", {"elements": "all"}, 400, "nothing has failed"),
        ("GET", "api/switches/s99", None, 400, "s99"),
        ("GET", "api/switches/..", None, 400, ""),
        ("GET", "api/links/s1-s2-s3", None, 400, "link"),
        ("GET", "api/path?source=s1&destination=s1", None, 400, "different switches"),
        ("GET", "api/path?source=s1", None, 400, "destination"),
        ("GET", "api/results/etc", None, 400, "from this session"),
        ("GET", "api/results/..%2f..%2fetc", None, 404, ""),
        ("GET", "api/recording", None, 409, "not possible"),
        ("POST", "api/routing", {"parameters": "threshold=2"}, 400, "threshold must be over 0 and at most 1"),
        ("POST", "api/routing", {"parameters": "buckets=2"}, 400, "part of the installed rules"),
        ("POST", "api/collectives", {"pattern": "allreduce:star"}, 400, "star"),
        ("POST", "api/collectives", {"message_bytes": "many"}, 400, "must be like"),
    ],
)
def test_what_cannot_be_done_gets_a_clear_status_and_leaves_the_fabric_alone(
    fabric, method, path, body, status, words
):
    answer = ask(fabric.url, method, path, body)
    assert answer[0] == status
    assert words in answer[1]["error"]
    assert fabric.session.active_failures() == ()


def test_a_refused_measurement_leaves_no_event(fabric):
    fabric.start_traffic(load=0.1)
    for pattern, words in (("uniform", "background traffic is running"), ("adv", "requires routers")):
        answer = ask(fabric.url, "POST", "api/results", {"pattern": pattern, "duration": 2.75})
        assert (answer[0], words in answer[1]["error"]) == (400, True)
    fabric.stop_traffic()
    assert "measured for 2.75 s" not in str(ask(fabric.url, "GET", "api/timeline"))


def test_metrics_are_those_of_the_fabric(fabric):
    text = fetch(fabric.url, "metrics")[1].decode()
    assert 'polarlab_link_load{link="s1-s10",from="s1",to="s10"}' in text
    assert text.count("polarlab_link_up{") == 48
    assert "polarlab_controller_up 1.0" in text


@pytest.mark.spoils_fabric
def test_a_web_process_that_is_killed_leaves_the_fabric_alone(fabric, page):
    events = []
    fabric.progress = events.append
    [web] = web_processes()
    web.send_signal(signal.SIGKILL)
    eventually(lambda: any("has ended; the fabric continues" in str(event) for event in events))
    assert fabric.host("h1_1").run("ping -c 1 h5_1").status == 0
    assert fabric.fail("link:s1-s10")
    page.wait(lambda: page.text("connection") != "live")
    assert fabric.web_start() == fabric.url
    page.wait(lambda: page.text("connection") == "live")  # the browser connects by itself
    page.wait(lambda: page.dead() == {"s1-s10"})
    assert "port 1 of s1 (s1-s10) is down" in page.text("entries")  # while there was no page
    assert fabric.web_start() == fabric.url
    assert all("Failed to load resource" in error for error in page.errors())

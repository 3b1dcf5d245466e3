"""The prompt and the verbs of a session, on real switches."""

import os
import re
import signal
import sys

import pytest
from conftest import (
    POLARLAB,
    completed,
    eventually,
    eventually_missing,
    marked_processes,
    polarlab,
)
from mininet.log import lg
from support.fixtures.documents import ROOT, blocks
from support.fixtures.terminal import Terminal

from emulation.prompt.line_input import run_lines
from experiments.events.marks import ProcessEnded
from experiments.events.notices import Notice
from experiments.session.fabric_session import FabricSession
from polarlab.cli.prompt.announcer import Announcer
from polarlab.cli.prompt.commands import SessionPrompt


class Face:
    """A prompt on a fabric, and the events of its session."""

    def __init__(self, fabric, capsys):
        self.events = []
        self.fabric, self._capsys = fabric, capsys
        self.session = FabricSession(fabric, self.events.append)

    def run(self, *lines):
        """Runs lines and returns the one that failed, and what was printed on standard output."""
        failed = run_lines(SessionPrompt(self.session, Announcer(self.events.append)), lines)
        return failed, self._capsys.readouterr().out

    def printed(self, *lines):
        """Runs lines, none of which may fail, and returns what was printed."""
        failed, printed = self.run(*lines)
        assert failed is None, (failed, printed)
        return printed

    def eventually_told(self, event):
        eventually(lambda: event in self.events)


def kept_streams():
    for handler in lg.handlers:  # pytest's own stream ends with the test
        handler.stream = sys.__stderr__


@pytest.fixture
def prompt(er2, capsys):
    """The prompt of ER_2."""
    face = Face(er2, capsys)
    with face.session:
        yield face
    kept_streams()


@pytest.fixture
def faulty(er3_alive, capsys):
    """The prompt of ER_3, for faults; at the end the fabric is whole."""
    face = Face(er3_alive, capsys)
    with face.session:
        yield face
        face.session.restore("all")
    kept_streams()
    eventually_missing(er3_alive)


@pytest.mark.parametrize(
    "line",
    [
        *(
            "h99_1 ping h1_1",
            "switch s99 stop",
            "fail link:s1-s99",
            "traffic stop",
            "exit now",
            "quit now",
            "x",
        ),
        *("link s1 nowhere down", "link h1_1 h2_1 down", "link s1 s1 down", "link s1", "link s1 s2 away"),
        *("h1_1 ping -c 1 s5", "s5 start", "s5 stop"),
    ],
)
def test_a_line_that_cannot_be_done_has_failed(prompt, line):
    failed, printed = prompt.run(line, "h1_1 echo later")
    assert failed.line == line
    assert failed.status > 0
    assert failed.reason
    assert printed == ""


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("h99_1 true", "node must be h1_1 to h7_1 or s1 to s7, got 'h99_1'"),
        ("s8 true", "node must be h1_1 to h7_1 or s1 to s7, got 's8'"),
        ("H1_1 true", "unknown command: H1_1; did you mean 'h1_1'?"),
        ("pingal", "unknown command: pingal; did you mean 'pingall'?"),
        (
            "path h1_1 h99_1",
            "path endpoint must be a switch (s1 to s7) or a host (h1_1 to h7_1), got 'h99_1'",
        ),
    ],
)
def test_a_mistyped_name_is_told_with_those_that_there_are(prompt, line, told):
    failed, _ = prompt.run(line)
    assert failed.reason.startswith(told)


def test_lines_after_exit_are_not_run(prompt):
    printed = prompt.printed("h1_1 echo before", "exit", "h1_1 echo later")
    assert "before" in printed
    assert "later" not in printed


def test_a_switchs_name_in_a_hosts_command_stays_and_a_hosts_name_is_its_address(prompt):
    assert "s3 10.0.2.1 h99_1" in prompt.printed("h1_1 echo s3 h3_1 h99_1")


def test_a_shell_that_ends_leaves_its_host_on_the_fabric(prompt):
    failed, _ = prompt.run("h1_1 exit")
    assert "h1_1" in failed.reason
    assert "1 received" in prompt.printed("h1_1 ping -c 1 -W 2 h2_1")


def test_a_shell_that_is_killed_between_lines_is_started_again_at_once(prompt):
    prompt.printed("h2_1 true")
    os.kill(prompt.fabric.network["h2_1"].shell.pid, signal.SIGKILL)
    prompt.eventually_told(Notice("shell-renewed", node="h2_1"))
    assert "1 received" in prompt.printed("h2_1 ping -c 1 -W 2 h1_1")


def test_the_end_of_a_program_in_the_background_is_told(prompt):
    prompt.printed("h1_1 sleep 600 &")
    pid = prompt.fabric.network["h1_1"].background_pid
    prompt.printed(f"h1_1 kill -9 {pid}")
    prompt.eventually_told(Notice("program-ended", node="h1_1", command="sleep 600 &", pid=pid))


@pytest.mark.tried_again
def test_iperf_measures_tcp_and_ends_no_server_but_its_own(prompt):
    printed = prompt.printed("h2_1 iperf3 -s -D", "iperf h1_1 h2_1 1", "h2_1 pgrep -c -f 'iperf3 -s -[D]'")
    prompt.printed("h2_1 kill $(pgrep -f 'iperf3 -s -[D]')")
    rate = float(re.search(r"h1_1 to h2_1: ([\d.]+) Mbit/s", printed)[1])
    assert 5 < rate < 10
    assert printed.split()[-1] == "1"


def test_paths_follow_a_failure_and_probes_agree(faulty):
    neighbour = faulty.fabric.options.topology.neighbours(0)[0] + 1
    assert f"s1 -> s{neighbour} (1 hop)" in faulty.printed(f"path h1_1 s{neighbour}")
    component = f"link:s1-s{neighbour}"
    assert f"failed: {component}" in faulty.printed(f"fail {component}")
    assert component in faulty.printed("fail")
    printed = faulty.printed(f"path s1 s{neighbour}")
    assert f"without {component}" in printed
    assert "(1 hop)" not in printed
    assert "none lost" in printed
    faulty.printed("restore all")
    assert "nothing has failed" in faulty.printed("fail")


def test_mininets_link_and_switch_are_the_sessions_failures(faulty):
    neighbour = f"s{faulty.fabric.options.topology.neighbours(0)[0] + 1}"
    printed = faulty.printed(f"link {neighbour} s1 down", f"fail link:s1-{neighbour}", "switch s3 stop")
    assert f"failed: link:s1-{neighbour}\n" in printed
    assert f"link:s1-{neighbour} has failed already\n" in printed
    assert "s3 stopped" in printed
    assert faulty.printed("fail") == f"failed: hang:s3, link:s1-{neighbour}\n"
    assert f"without hang:s3, link:s1-{neighbour}" in faulty.printed(f"path s1 {neighbour}")
    printed = faulty.printed("restore all", "fail", "switch s3 start", f"restore link:s1-{neighbour}")
    assert "nothing has failed" in printed
    assert "s3 is already running\n" in printed
    assert f"link:s1-{neighbour} has not failed\n" in printed
    assert faulty.printed("switch s3 stop", "switch s3 start").splitlines()[1].startswith("s3 started")


def test_links_of_hosts_fail_and_are_restored_like_others(faulty):
    printed = faulty.printed("link h1_1 s1 down", "fail link:s1-h1_1", "fail link:h2_1-s2", "fail")
    assert "failed: link:s1-h1_1\nlink:s1-h1_1 has failed already\nfailed: link:s2-h2_1\n" in printed
    assert printed.endswith("failed: link:s1-h1_1, link:s2-h2_1\n")
    assert "none lost" in faulty.printed("path s4 s5")
    failed, _ = faulty.run("h1_1 ping -c 1 -W 1 h4_1")
    assert failed is not None
    assert "restored: link:s2-h2_1\n" in faulty.printed("link s2 h2_1 up")
    assert faulty.printed("restore all", "fail") == "restored: link:s1-h1_1\nnothing has failed\n"
    assert "1 received" in faulty.printed("h1_1 ping -c 1 -W 2 h4_1")
    for line in ("fail link:s1-h2_1", "fail link:s1-h9_9", "link h1_1 s2 down"):
        failed, _ = faulty.run(line)
        assert failed is not None


def test_a_switch_without_power_is_not_started(faulty):
    for action in ("start", "stop"):
        failed, _ = faulty.run("fail switch:s3", f"switch s3 {action}")
        assert failed.reason == "s3 has no power; restore switch:s3"
    for line in ("path s1 s3", "path h3_1 s1"):
        failed, _ = faulty.run(line)
        assert failed.reason == "s3 has no power; restore switch:s3"


def test_paths_of_a_host_whose_interface_is_down_are_one_line_of_error(prompt):
    for line in ("path h1_1 s4", "path s4 h1_1"):
        failed, _ = prompt.run("link h1_1 s1 down", line)
        assert failed.reason.startswith("h1_1-eth0 is down")
    prompt.printed("link h1_1 s1 up")


def test_ports_whose_interfaces_were_deleted_are_named_and_the_others_are_measured():
    lines = ("s1 ip link del s1-eth1", "traffic start uniform 0.3", "loads", "traffic stop", "drops")
    done = polarlab("up", "polarfly", "--q", "2", *(word for line in lines for word in ("--exec", line)))
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"^s1-s\d is not measured", done.stdout, re.MULTILINE)) == 2
    assert re.search(r"^s\d-s\d +\d+ +0\.[1-9]", done.stdout, re.MULTILINE)


def test_background_traffic_loads_links_until_it_is_stopped(faulty):
    printed = faulty.printed("traffic start uniform 0.2", "loads 1", "traffic status", "traffic stop")
    loads = [float(load) for load in re.findall(r"^s\d+-h\d+_1 +\d+ +([\d.]+)", printed, re.MULTILINE)]
    assert loads
    assert max(loads) < 0.5
    sent, received = map(int, re.search(r"(\d+) of (\d+) packets arrived", printed).groups()[::-1])
    assert received >= 0.99 * sent > 0
    failed, _ = faulty.run("traffic stop")
    assert failed is not None


def test_a_switch_that_crashes_is_told_and_start_starts_it(faulty):
    vswitch = faulty.fabric.network["s3"].vswitch
    vswitch.processes[1].kill()
    eventually(
        lambda: any(isinstance(event, ProcessEnded) and "s3" in event.process for event in faulty.events)
    )
    assert faulty.printed("fail") == "failed: hang:s3\n"
    faulty.printed("switch s3 start")
    assert faulty.printed("fail", "restore all") == "nothing has failed\nnothing to restore\n"
    eventually_missing(faulty.fabric)


def test_a_switch_whose_database_crashes_can_be_started_as_well(faulty):
    faulty.fabric.network["s3"].vswitch.processes[0].kill()
    eventually(
        lambda: any(isinstance(event, ProcessEnded) and "s3" in event.process for event in faulty.events)
    )
    faulty.printed("switch s3 start", "switch s3 stop", "switch s3 start")
    eventually_missing(faulty.fabric)


def test_a_switch_without_rules_gets_them_from_a_controller_that_is_started_again(faulty):
    printed = faulty.printed("controller kill", "switch s3 stop", "switch s3 start", "controller status")
    assert "was killed" in printed
    assert "the controller runs" in faulty.printed("controller start")
    eventually_missing(faulty.fabric)


def test_a_controller_that_ends_by_itself_is_told_at_once_and_can_be_started(faulty):
    os.kill(faulty.fabric.controller.pid, signal.SIGKILL)
    assert "ended by itself" in faulty.printed("controller status")
    eventually(lambda: any(isinstance(event, ProcessEnded) for event in faulty.events))
    assert "the controller runs" in faulty.printed("controller restart")
    os.kill(faulty.fabric.controller.pid, signal.SIGKILL)
    printed = faulty.printed("controller start")
    assert float(re.search(r"in control after ([\d.]+) s", printed)[1]) > 0
    eventually_missing(faulty.fabric)


def test_pings_of_all_hosts_wait_for_each_answer_as_long_as_they_are_told(prompt):
    printed = prompt.printed("fail link:s7-h7_1", "pingall 0.2", "restore all")
    assert "at most 0.2 s" in printed
    assert "X X X X X X" in printed
    assert "(30/42 received)" in printed


@pytest.mark.parametrize("line", ["exec >/dev/null", "ping() { :; }", "exec >&- 2>&-"])
def test_pings_do_not_depend_on_the_shells_of_hosts(prompt, line):
    prompt.run(f"h1_1 {line}")
    try:
        assert "(42/42 received)" in prompt.printed("pingall")
        assert "2/2" in prompt.printed("pingpair")
    finally:
        prompt.fabric.network["h1_1"].end_shell()
        prompt.eventually_told(Notice("shell-renewed", node="h1_1"))


def test_rules_of_switches_can_be_asked_for_with_quotes_and_pipes(prompt):
    printed = prompt.printed("dpctl dump-flows 'table=0' | grep -c table=0,")
    assert len(re.findall(r"^[1-9]\d*$", printed, re.MULTILINE)) == 7


def test_rules_of_a_switch_do_not_depend_on_its_shell(prompt):
    prompt.run("s1 exec >/dev/null")
    try:
        assert "actions=" in prompt.printed("dpctl dump-flows").partition("s2")[0]
        prompt.printed("wait")
    finally:
        prompt.fabric.network["s1"].end_shell()
        prompt.eventually_told(Notice("shell-renewed", node="s1"))


def test_interfaces_that_a_command_has_set_down_are_listed(faulty):
    def no_port_is_held():  # by the controller, for what failed in the tests before
        faulty.fabric.controller.catch_up()
        return not faulty.fabric.controller.ports_down

    eventually(no_port_is_held)
    faulty.printed("h1_1 ip link set h1_1-eth0 down", "s3 ip link set s3-eth1 down")
    listed = [
        f"{interface} is down; restore it with `{interface.partition('-')[0]} ip link set {interface} up`"
        for interface in ("h1_1-eth0", "s3-eth1")
    ]
    assert faulty.printed("fail").splitlines() == listed
    faulty.printed("h1_1 ip link set h1_1-eth0 up", "s3 ip link set s3-eth1 up")
    assert faulty.printed("fail") == "nothing has failed\n"
    component = f"link:s1-s{faulty.fabric.options.topology.neighbours(0)[0] + 1}"
    faulty.printed(f"fail {component}", "fail switch:s4")
    assert faulty.printed("fail") == f"failed: switch:s4, {component}\n"


def test_drops_of_hosts_that_lie_are_told(prompt):
    prompt.printed(
        "h1_1 ip address add 10.9.9.9/8 dev h1_1-eth0", "h1_1 ping -c 1 -W 1 -I 10.9.9.9 h2_1 || true"
    )
    prompt.printed("h1_1 ip address del 10.9.9.9/8 dev h1_1-eth0")
    assert "forbidden packets of h1_1" in prompt.printed("drops")


def test_an_error_of_a_single_line_is_one_line_with_status_1():
    done = polarlab("up", "polarfly", "--q", "2", "--exec", "h1_1 exit", "--exec", "h1_1 echo later")
    assert done.returncode == 1
    assert "`h1_1 exit` failed" in done.stderr
    assert "later" not in done.stdout


def test_what_dies_is_told_at_a_terminal_and_the_line_that_is_being_typed_stays():
    with Terminal([POLARLAB, "up", "polarfly", "--q", "2"]) as terminal:
        terminal.expect("polarlab> ")
        terminal.type("h1_1 echo unbro")
        terminal.expect("unbro")
        (victim,) = [
            process.pid
            for process in marked_processes()
            if "ovs-vswitchd" in process.command and "s3.sock" in process.command
        ]
        os.kill(victim, signal.SIGKILL)
        terminal.expect(r"ovs-vswitchd of s3 has ended.*\r\n")
        terminal.expect("polarlab> h1_1 echo unbro")
        terminal.type("ken\n")
        terminal.expect("\nunbroken\r")
        terminal.expect("polarlab> ")
        terminal.type("h1_1 ping -i 0.2 h2_1\n")
        terminal.expect("bytes from")
        terminal.type("\x03")
        terminal.expect("packets transmitted")
        terminal.expect("polarlab> ")
        terminal.type("h1_1 ping -i 0.2 h2_1\n")
        terminal.expect("bytes from")
        terminal.type("\x1c")
        terminal.expect("polarlab> ")
        terminal.type("py exit()\n")
        terminal.expect("polarlab> ")
        terminal.type("switch s3 start\nexit\n")
        assert terminal.status() == 0


def test_the_lines_of_the_page_on_the_prompt_print_what_it_shows(tmp_path):
    page = blocks(ROOT / "docs" / "how-to" / "prompt.md")
    (place,) = [number for number, block in enumerate(page) if "<<'END'" in block.text]
    command = page[place].text.replace("sudo ", "").replace(".venv/bin/polarlab", POLARLAB)
    shown = page[place + 1].text
    done = completed(["bash", "-c", command], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(shown)
    assert "without link:s3-s8" in done.stdout
    assert "1 received" in done.stdout


def test_the_prompt_drains_lists_and_uses_again(prompt):
    assert prompt.printed("drain").strip() == "nothing is drained"
    assert prompt.printed("drain s3").startswith("s3 is drained: no transit traffic; ")
    assert prompt.printed("drain").strip() == prompt.printed("fail").strip() == "drained: switch:s3"
    assert "around s3 (drained)" in prompt.printed("controller status")
    assert "around switch:s3 (drained):" in prompt.printed("path s1 s5")
    failed, _ = prompt.run("drain s3")
    assert "already drained" in str(failed)
    assert prompt.printed("undrain all").startswith("s3 is in use again; ")
    assert "nothing has failed" in prompt.printed("fail")


@pytest.mark.spoils_fabric
def test_all_is_restored_but_what_a_host_has_deleted(er3_alive, capsys):
    face = Face(er3_alive, capsys)
    with face.session:
        face.printed("fail link:s1-h1_1,link:s2-h2_1", "h1_1 ip link delete h1_1-eth0")
        failed, _ = face.run("restore all")
        assert failed is not None
        assert face.printed("fail") == "nothing has failed\n"
        assert "1 received" in face.printed("h2_1 ping -c 1 -W 5 h4_1")
    kept_streams()

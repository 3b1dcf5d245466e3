"""The prompt and the verbs of a session, on real switches."""

import os
import re
import signal
import sys

import pytest
from conftest import eventually, eventually_missing, polarlab
from mininet.log import lg

from emulation.prompt.line_input import run_lines
from experiments.events.session import ProcessEnded, ProgramEnded, ShellRenewed
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
    "line", ["h99_1 ping h1_1", "link s1 nowhere down", "switch s99 stop", "fail link:s1-s99"]
)
def test_a_line_that_cannot_be_done_has_failed(prompt, line):
    failed, _ = prompt.run(line, "h1_1 echo later")
    assert failed.line == line
    assert failed.status > 0


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
    os.kill(prompt.fabric.network["h2_1"].pid, signal.SIGKILL)
    prompt.eventually_told(ShellRenewed("h2_1"))
    assert "1 received" in prompt.printed("h2_1 ping -c 1 -W 2 h1_1")


def test_the_end_of_a_program_in_the_background_is_told(prompt):
    prompt.printed("h1_1 sleep 600 &")
    pid = prompt.fabric.network["h1_1"].background_pid
    os.kill(pid, signal.SIGKILL)
    prompt.eventually_told(ProgramEnded("h1_1", "sleep 600 &", pid))


def test_iperf_measures_tcp_and_ends_no_server_but_its_own(prompt):
    printed = prompt.printed("h2_1 iperf3 -s -D", "iperf h1_1 h2_1 1", "h2_1 pgrep -c -f 'iperf3 -s -[D]'")
    rate = float(re.search(r"h1_1 to h2_1: ([\d.]+) Mbit/s", printed)[1])
    assert 5 < rate < 10
    assert printed.split()[-1] == "1"
    prompt.printed("h2_1 kill $(pgrep -f 'iperf3 -s -[D]')")


def test_paths_follow_a_failure_and_probes_agree(faulty):
    neighbour = faulty.fabric.options.topology.neighbours(0)[0] + 1
    assert f"s1 -> s{neighbour} (1 hop)" in faulty.printed(f"path h1_1 s{neighbour}")
    element = f"link:s1-s{neighbour}"
    assert f"failed: {element}" in faulty.printed(f"fail {element}")
    assert element in faulty.printed("fail")
    printed = faulty.printed(f"path s1 s{neighbour}")
    assert f"without {element}" in printed
    assert "(1 hop)" not in printed
    assert "none lost" in printed
    faulty.printed("restore all")
    assert "nothing has failed" in faulty.printed("fail")


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
    faulty.printed("switch s3 start")
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


def test_a_controller_that_ends_by_itself_is_told_and_can_be_started(faulty):
    os.kill(faulty.fabric.controller.pid, signal.SIGKILL)
    eventually(lambda: any(isinstance(event, ProcessEnded) for event in faulty.events))
    assert "has ended by itself" in faulty.printed("controller")
    assert "the controller runs" in faulty.printed("controller restart")
    eventually_missing(faulty.fabric)


def test_drops_of_hosts_that_lie_are_told(prompt):
    prompt.printed(
        "h1_1 ip address add 10.9.9.9/8 dev h1_1-eth0", "h1_1 ping -c 1 -W 1 -I 10.9.9.9 h2_1 || true"
    )
    prompt.printed("h1_1 ip address del 10.9.9.9/8 dev h1_1-eth0")
    assert "packets of h1_1" in prompt.printed("drops")


def test_an_error_of_a_single_line_is_one_line_with_status_1():
    done = polarlab("up", "polarfly", "--q", "2", "--exec", "h1_1 exit", "--exec", "h1_1 echo later")
    assert done.returncode == 1
    assert "`h1_1 exit` failed: the shell of h1_1 has ended" in done.stderr
    assert "later" not in done.stdout

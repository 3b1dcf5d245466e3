"""`polarlab.Fabric` and `polarlab.run` on real switches: verbs, results, and nothing left behind."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import networkx as nx
import pytest
from conftest import TIMEOUT_S, completed, eventually, wait_for_line
from conftest import polarlab as polarlab_command
from support.builders.repeats import repeats
from support.fixtures.documents import ROOT

import polarlab

pytestmark = pytest.mark.usefixtures("no_leftovers")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_fabric_works_after_its_working_folder_was_removed(folder, monkeypatch):
    """Its owner may be another user than root."""
    (folder / "removed").mkdir()
    monkeypatch.chdir(folder / "removed")
    with polarlab.Fabric("polarfly", q=2) as fabric:
        (folder / "removed").rmdir()
        assert fabric.host("h1_1").run("echo after").output.strip() == "after"
        fabric.fail("link:s1-s5")
        assert "DOWN" in fabric.host("s1").run("ip -br link").output


def test_verbs_of_a_fabric(folder):
    events = []
    with polarlab.Fabric("polarfly", q=3, link_rate="5Mbit", progress=events.append) as fabric:
        assert (len(fabric.hosts), len(fabric.switches)) == (13, 13)
        ping = fabric.host("h1_1").run("ping -c 2 -i 0.2 h5_1")
        assert (ping.ok, "2 received" in str(ping)) == (True, True)
        failed = fabric.host("h1_1").run("cat no-such-file; exit 7")
        assert (failed.status, "no-such-file" in failed.errors, failed.ok) == (7, True, False)
        slow = fabric.host("s1").run("sleep 60", timeout=0.2)
        assert (slow.timed_out, slow.ok) == (True, False)
        server = fabric.host("h5_1").start("iperf3 -s --forceflush")
        assert server.running
        eventually(lambda: "listening" in server.output)
        assert "listening" in server.stop().output
        assert not server.running
        assert fabric.fail("link:s3-s8") == ("link:s3-s8",)
        assert fabric.failures == ("link:s3-s8",)
        assert len(fabric.path("s3", "s8").paths[0].switches) > 2
        fabric.restore()
        assert fabric.failures == ()
        assert fabric.hang("s4") == "hang:s4"
        assert fabric.restore("hang:s4") == ("hang:s4",)
        fabric.kill_controller()
        assert not fabric.controller().running
        fabric.start_controller()
        assert fabric.controller().running
        fabric.start_traffic("uniform", 0.2)
        with pytest.raises(polarlab.UsageError, match="stop it first"):
            fabric.traffic(duration=1, warmup=0)
        assert max(load.load for load in fabric.loads(0.5)) > 0
        assert fabric.stop_traffic().sent_packets > 0
        assert len(fabric.tables("s3").flows) >= len(fabric.rules("s3").rules)
        with pytest.raises(polarlab.ParameterError, match=r"h1_1 to h13_1 .*got 'h99_1'"):
            fabric.host("h99_1")
    assert any("Open vSwitch" in str(event) for event in events)
    with pytest.raises(polarlab.UsageError, match="is not up"):
        fabric.loads()


def test_traffic_on_a_fabric_is_a_run_and_has_failures_that_stand(folder):
    with polarlab.Fabric("polarfly", q=2, link_rate="5Mbit") as fabric:
        whole = fabric.traffic(load=0.2, duration=1, warmup=0.5)
        fabric.fail("link:s1-s2" if 1 in fabric.topology.neighbours(0) else "random:1")
        broken = fabric.traffic(load=0.2, duration=1, warmup=0.5, out="results/broken")
        (folder / "faults.txt").write_text("0.5 fail link:s1-s5\n")
        with pytest.raises(polarlab.UsageError, match="intact fabric"):
            fabric.traffic(duration=2, warmup=0, faults="faults.txt")
        with pytest.raises(polarlab.UsageError, match="routing"):
            fabric.traffic(routing="valiant")
        begun = []
        fabric.session.turns.on_measurement.append(lambda: begun.append(fabric))
        with pytest.raises(polarlab.UsageError, match="did you mean"):
            fabric.traffic(loadd=0.3)
        assert begun == []  # options are checked before the fabric is reserved
    assert whole.folder.parent.name == "results"
    assert whole.summary.faults is None
    assert whole.summary.packets.received > 0
    assert [fault.time_s for fault in broken.summary.faults.done] == [0.0]
    assert broken.manifest.traffic.faults[0].startswith("0 fail link:")
    assert broken.plot("throughput")


def test_traffic_on_a_drained_fabric_is_a_run_that_names_the_drain(folder):
    """It is compared with the plan around the drain, and neither predicted nor simulated without it."""
    with polarlab.Fabric("polarfly", q=2, link_rate="5Mbit", routing="min") as fabric:
        fabric.drain("link:s1-s6")
        drained = fabric.traffic(load=0.2, duration=1, warmup=0, out="drained")
        (folder / "faults.txt").write_text("0.5 fail link:s1-s5\n")
        with pytest.raises(polarlab.UsageError, match="undrain link:s1-s6"):
            fabric.traffic(duration=2, warmup=0, faults="faults.txt")
        fabric.undrain()
        whole = fabric.traffic(load=0.2, duration=1, warmup=0, out="whole")
    assert [(one.time_s, one.fault) for one in drained.summary.faults.done] == [(0.0, "drain link:s1-s6")]
    assert drained.manifest.traffic.faults == ("0 drain link:s1-s6",)
    assert (folder / "drained" / "faults.txt").read_text() == "0 drain link:s1-s6\n"
    assert "drain link:s1-s6" in drained.report().read_text()
    assert drained.summary.predicted is None
    assert sum(drained.summary.hops[hops] for hops in drained.summary.hops if hops > 2) > 0
    with pytest.raises(polarlab.UsageError):
        polarlab.crosscheck("drained")
    assert whole.summary.faults is None
    assert whole.summary.predicted
    assert whole.summary.hops_as_distances


def test_a_session_is_recorded(folder):
    with polarlab.Fabric("polarfly", q=2, out="results/session") as fabric:
        fabric.fail("switch:s4")
        with pytest.raises(polarlab.UsageError):
            fabric.drain("s99")
        fabric.restore()
    summary = fabric.results.summary
    assert [line.line for line in summary.lines] == ["fail switch:s4", "restore all"]
    assert [fault.fault for fault in summary.faults.done] == ["fail switch:s4", "restore switch:s4"]


def closed_during_restoration(fabric):
    """Closes a fabric while another thread restores its switches; returns the errors of that thread."""
    errors = []

    def restore():
        try:
            fabric.restore("all")
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=restore)
    failed = len(fabric.session.active_failures())
    thread.start()
    eventually(lambda: len(fabric.session.active_failures()) < failed, 0.005)
    fabric.close()
    assert not thread.is_alive()
    return errors


def test_a_close_waits_for_the_verb_of_another_thread_which_ends_early(folder):
    """As of the page: it does not act on what is being removed."""
    with polarlab.Fabric("polarfly", q=2) as fabric:
        fabric.fail(",".join(f"hang:{switch}" for switch in fabric.switches))
        [error] = closed_during_restoration(fabric)
    assert type(error).__name__ == "FabricBusy"


def test_a_close_hides_no_fault_that_could_not_be_undone(folder):
    with polarlab.Fabric("polarfly", q=2) as fabric:
        fabric.fail(",".join(["switch:s1", *(f"hang:{switch}" for switch in fabric.switches[1:])]))
        fabric.host("h1_1").run("ip link delete h1_1-eth0")
        [error] = closed_during_restoration(fabric)
    assert "switch:s1" in str(error)


def test_a_session_of_many_long_lines_can_be_read(folder):
    """A page that somebody has taken over runs as many as it likes."""
    with polarlab.Fabric("polarfly", q=2, out="results/session") as fabric:
        for _ in range(3_000):
            with fabric.recorder.line("\n" * 4096, lambda: ()):
                pass
    summary = fabric.results.summary
    assert len(summary.lines) == 1024
    assert any("1976" in reason for reason in summary.fidelity.reasons)
    assert (folder / "results" / "session" / "summary.json").stat().st_size < 16 << 20
    assert "session" in fabric.results.report().read_text()


@pytest.mark.tried_again
def test_a_graph_of_networkx_with_hosts_of_its_own(folder):
    graph = nx.cycle_graph(4)
    graph.nodes[1]["hosts"] = 2
    graph.nodes[2]["hosts"] = 0
    topology = polarlab.from_networkx(graph)
    with polarlab.Fabric(topology, link_rate="5Mbit") as fabric:
        assert fabric.hosts == ("h1_1", "h2_1", "h2_2", "h4_1")
        assert fabric.host("h2_2").run("ping -c 1 h4_1").ok
    run = polarlab.run(topology, link_rate="5Mbit", load=0.2, duration=1, warmup=0, out="results/ring")
    assert run.summary.endpoints == 4
    assert run.manifest.params == {"from": topology.file_name}
    assert list(run.plot("links")["links"].axes[0].collections)  # drawn on the graph
    (folder / "results").rename(folder / "moved")
    again = polarlab.run("moved/ring", out="moved/again")
    assert again.summary.packets.sent == run.summary.packets.sent
    assert again.manifest.experiment == run.manifest.experiment
    assert sorted(path.name for path in folder.iterdir()) == ["moved"]


@pytest.mark.slow
@pytest.mark.tried_again
def test_replications_sweeps_and_failovers_hold_their_graph(folder):
    topology = polarlab.from_networkx(nx.cycle_graph(4))
    polarlab.run(topology, link_rate="5Mbit", load=0.2, duration=1, warmup=0, repeat=2, out="runs")
    one = polarlab.run("runs/seed-2", out="one")
    assert one.manifest.params == {"from": topology.file_name}
    points = {"routings": "min", "patterns": "uniform", "duration": 1, "warmup": 0}
    polarlab.sweep(topology, **points, link_rate="5Mbit", loads=[0.2], out="sweep")
    sweep = polarlab.sweep(topology, **points, link_rate="5Mbit", loads=[0.2, 0.3], out="sweep")
    assert len(sweep.points) == 2
    other = polarlab.from_networkx(nx.complete_graph(4))
    with pytest.raises(polarlab.UsageError, match="with params"):
        polarlab.sweep(other, **points, link_rate="5Mbit", loads=[0.4], out="sweep")
    again = polarlab.sweep("sweep", out="sweep-again")
    assert len(again.points) == 2
    polarlab.failover(topology, fail="link:s1-s2", repeat=2, out="failovers")
    polarlab.failover("failovers/seed-2", out="failover")
    done = polarlab_command("run", "--again", "one", "--out", "again", "--json")
    assert json.loads(done.stdout)["packets"]["sent"] == one.summary.packets.sent
    held = {path.parent.as_posix() for path in Path().rglob(topology.file_name)}
    assert held == {
        *("runs", "runs/seed-1", "runs/seed-2", "one", "again", "sweep", "sweep-again"),
        *("failovers", "failovers/seed-1", "failovers/seed-2", "failover"),
    }


@pytest.mark.slow  # as a run with failures that stand, and one that is measured again
@pytest.mark.tried_again
def test_traffic_on_a_fabric_is_measured_again(folder):
    topology = polarlab.from_networkx(nx.complete_graph(4))
    with polarlab.Fabric(topology, link_rate="5Mbit", out="session") as fabric:
        fabric.fail("link:s1-s2")
        broken = fabric.traffic(load=0.2, duration=1, warmup=0, seed=3, out="broken")
    again = polarlab.run(again=broken, out="broken-again")
    assert again.manifest.traffic.faults == broken.manifest.traffic.faults == ("0 fail link:s1-s2",)
    assert again.summary.packets.sent == broken.summary.packets.sent
    assert (folder / "session" / topology.file_name).exists()


@pytest.mark.slow  # like the one above
@pytest.mark.tried_again
def test_traffic_on_a_drained_fabric_is_measured_again_around_the_drain(folder):
    with polarlab.Fabric("polarfly", q=2, link_rate="5Mbit") as fabric:
        fabric.drain("s3")
        drained = fabric.traffic(load=0.2, duration=2, warmup=1, out="drained")
    again = polarlab.run(again=drained, out="again")
    assert again.manifest.traffic.faults == drained.manifest.traffic.faults == ("0 drain switch:s3",)
    assert again.summary.packets.sent == drained.summary.packets.sent


def test_the_file_of_a_run_is_a_fabric(folder):
    with polarlab.Fabric(ROOT / "examples" / "first.toml") as fabric:
        assert fabric.host("h1_1").run("ping -c 1 h2_1").ok
    assert list(folder.iterdir()) == []


def test_two_fabrics_are_refused_and_the_first_stays_up(folder):
    with polarlab.Fabric("polarfly", q=2) as fabric:
        with pytest.raises(polarlab.MachineError, match="this program"):
            polarlab.Fabric("polarfly", q=2).open()
        with pytest.raises(polarlab.MachineError, match="this program"):
            polarlab.run("polarfly", q=2, duration=1)
        assert "another fabric is running" in polarlab_command("up", "polarfly", "--q", "2").stderr
        assert fabric.host("h1_1").run("ping -c 1 h2_1").ok


def failing_block(fabric):
    with fabric:
        fabric.start_traffic()
        fabric.host("h1_1").start("sleep 100")
        raise ZeroDivisionError


def test_an_exception_in_the_block_takes_the_fabric_down():
    fabric = polarlab.Fabric("polarfly", q=2)
    with pytest.raises(ZeroDivisionError):
        failing_block(fabric)
    assert not fabric.up


UP = """
import sys, time, polarlab
with polarlab.Fabric("polarfly", q=2) as fabric:
    fabric.start_traffic()
    fabric.host("h1_1").start("sleep 100")
    print("up", file=sys.stderr, flush=True)
    time.sleep(100)
"""
OPENED = """
import sys, polarlab
fabric = polarlab.Fabric("polarfly", q=2).open()
assert fabric.host("h1_1").run("ping -c 1 h2_1").ok
"""
IN_A_THREAD = """
import threading, polarlab

def work():
    with polarlab.Fabric("polarfly", q=2) as fabric:
        done.append(fabric.host("h1_1").run("ping -c 1 h2_1").ok)

done = []
thread = threading.Thread(target=work)
thread.start()
thread.join()
assert done == [True]
"""
IN_AN_EVENT_LOOP = """
import asyncio, polarlab

async def work():
    with polarlab.Fabric("polarfly", q=2) as fabric:
        return fabric.traffic(load=0.2, duration=1, warmup=0)

assert asyncio.run(work()).summary.packets.received > 0
"""


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGTERM, 143),
        *repeats((signal.SIGINT, -signal.SIGINT), (signal.SIGHUP, 129)),
    ],
)
def test_a_signal_takes_the_fabric_down(number, status, folder):
    process = subprocess.Popen([sys.executable, "-c", UP], stderr=subprocess.PIPE, text=True)
    wait_for_line(process, "up")
    os.kill(process.pid, number)
    process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == status


@pytest.mark.parametrize("code", [OPENED, IN_A_THREAD, IN_AN_EVENT_LOOP], ids=["open", "thread", "loop"])
def test_a_fabric_of_a_program_leaves_nothing_behind(code, folder):
    done = completed([sys.executable, "-c", code])
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_experiments(folder):
    fabric = {"q": 2, "link_rate": "5Mbit", "duration": 1, "warmup": 0}
    events = []
    run = polarlab.run("polarfly", **fabric, load=0.3, progress=events.append)
    assert isinstance(run, polarlab.Run)
    assert events
    points = {"routings": "min", "patterns": ["uniform"], "out": "results/sweep"}
    sweep = polarlab.sweep("polarfly", **fabric, **points, loads=[0.2])
    sweep = polarlab.sweep("polarfly", **fabric, **points, loads=[0.2, 0.4])
    assert [point.load for point in sweep.points] == [0.2, 0.4]
    failover = polarlab.failover("polarfly", q=2)
    assert failover.summary.restored


@pytest.mark.parametrize(
    ("options", "text"),
    [({"loadd": 0.5}, "did you mean 'load'"), ({"load": 1.5}, "at most 1"), ({"loads": "0.5"}, "of sweep")],
)
def test_wrong_options_are_one_line(options, text, folder):
    with pytest.raises(polarlab.UsageError, match=text) as refused:
        polarlab.run("polarfly", q=2, **options)
    assert "\n" not in str(refused.value)
    assert list(folder.iterdir()) == []

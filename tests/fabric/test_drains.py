"""Maintenance without loss: switches and links that are drained under load, switched off, and used again."""

import time

import pytest
from conftest import QUIET, eventually, eventually_missing, settle
from pair_probes import next_run

from experiments.fault_injector import FaultSchedule
from experiments.session.fabric_session import FabricSession
from experiments.traffic_jobs import make_job
from topology.addressing import interface_name
from topology.errors import UsageError
from topology.faults import link_component, parse_schedule
from traffic.engine.engine import run_traffic
from traffic.workload.patterns import make_pattern
from traffic.workload.schedule import PatternSchedule

pytestmark = pytest.mark.usefixtures("no_leftovers")

FRAME_BYTES, LOAD = 1000, 0.1
# Open vSwitch calls its controller again some seconds after its start.
OF_A_SWITCH = "0.4 drain {0}\n1.8 fail {1}\n2.6 restore {1}\n7.5 undrain {0}\n"
OF_A_LINK = "0.4 drain {0}\n1.2 fail {0}\n1.8 restore {0}\n2.6 undrain {0}\n"


def play(fabric, text, seconds):
    """Plays a schedule under load and returns what was sent and received by pair, and the player."""
    options = fabric.options
    most = options.links.rate_bps / (FRAME_BYTES * 8)
    pattern = make_pattern("uniform", options.topology, options.hosts, 1)
    schedule = PatternSchedule(pattern, LOAD * most, round(seconds * 1e9), 32, 1, max_packets_per_s=most)
    job = make_job(fabric, schedule, FRAME_BYTES, next_run(), 32, (0, schedule.end_ns))
    with FaultSchedule(fabric, parse_schedule(text, options.topology), QUIET) as player:
        result = run_traffic(job, {}, fabric.network.run_dir, starts=player.start)
    return result.sent.frames, result.received.frames, player


def transit_packets(fabric, router):
    """Returns the packets that a switch has sent by its ports to other switches."""
    ports = range(1, int(fabric.options.topology.degrees[router]) + 1)
    names = [f"/sys/class/net/{interface_name(router, port)}/statistics/tx_packets" for port in ports]
    return sum(map(int, fabric.network[f"s{router + 1}"].cmd(f"cat {' '.join(names)}").split()))


@pytest.fixture
def session(er3_alive):
    """A session on a whole fabric, on which nothing is drained at the end."""
    assert er3_alive.controller.wait_until_recovered(20)
    with FabricSession(er3_alive) as session:
        yield session
        session.restore("all")
        if session.drained():
            session.undrain()
        settle(0.5)
        assert er3_alive.controller.wait_until_recovered(30)


@pytest.mark.tried_again
def test_a_drained_switch_is_switched_off_and_brought_back_without_loss_for_others(er3_alive, session):
    sent, received, player = play(er3_alive, OF_A_SWITCH.format("s5", "switch:s5"), 8.5)
    verbs = [str(done.fault) for done in player.done]
    assert verbs == ["drain switch:s5", "fail switch:s5", "restore switch:s5", "undrain switch:s5"]
    others = [host for host in range(13) if host != 4]
    lost = (sent - received)[[[host] for host in others], others].sum()
    assert sent.sum() > 10_000
    assert lost == 0
    assert er3_alive.controller.planned_drain == "none"


@pytest.mark.tried_again
def test_a_drained_link_is_pulled_and_plugged_in_without_any_loss(er3_alive, session):
    name = link_component(er3_alive.options.topology.link_list[4]).name
    sent, received, player = play(er3_alive, OF_A_LINK.format(name), 3.5)
    assert len(player.done) == 4
    assert sent.sum() > 4000
    assert (sent - received).sum() == 0


@pytest.mark.slow
@pytest.mark.tried_again
def test_adaptive_traffic_is_drained_without_loss(adaptive_er3):
    sent, received, _ = play(adaptive_er3, OF_A_SWITCH.format("s5", "switch:s5"), 8.5)
    others = [host for host in range(13) if host != 4]
    assert (sent - received)[[[host] for host in others], others].sum() == 0


@pytest.mark.tried_again
def test_a_drained_switch_carries_packets_of_its_own_host_only(er3_alive, session):
    own = next(host for host in er3_alive.hosts if host.router == 6)
    session.start_traffic("uniform", 0.2)
    before = transit_packets(er3_alive, 6)
    settle(0.5)
    assert transit_packets(er3_alive, 6) - before > 50
    outcome = session.drain("s7")
    assert str(outcome).startswith("s7 is drained: no transit traffic; ")
    assert outcome.milliseconds > outcome.installed_ms > outcome.planning_ms > 0
    session.fail(f"link:s7-{own.name}")
    settle(0.5)
    before = transit_packets(er3_alive, 6)
    settle(0.5)
    assert transit_packets(er3_alive, 6) == before
    session.stop_traffic()


@pytest.mark.tried_again
def test_a_drain_and_its_end_lose_nothing_at_all(er3_alive, session):
    session.start_traffic("uniform", 0.2)
    time.sleep(0.3)
    for name in ("s1", "s9,link:s2-s6"):
        session.drain(name)
        session.undrain()
    outcome = session.stop_traffic()
    assert outcome.sent_packets == outcome.received_packets > 1000


def test_a_controller_that_is_started_again_keeps_the_drain(er3_alive, session):
    session.drain("s3")
    rules = er3_alive.network.dump_tables("s1")[0]
    session.kill_controller()
    with pytest.raises(UsageError, match="controller must run"):
        session.undrain("s3")
    session.start_controller()
    eventually(lambda: session.controller_status().planned_drain == "s3")
    assert [component.name for component in session.drained()] == ["switch:s3"]
    assert len(er3_alive.network.dump_tables("s1")[0]) == len(rules)
    assert eventually_missing(er3_alive) <= 4
    session.undrain("s3")
    assert session.controller_status().planned_drain == "none"
    eventually(lambda: eventually_missing(er3_alive) == 2)


def test_a_switch_returns_drained_and_a_failed_one_is_not_drained(session):
    session.drain("s3")
    session.fail("switch:s3")
    eventually(lambda: session.controller_status().planned_failure == "s3")
    session.restore("switch:s3")
    eventually(lambda: session.controller_status().planned_failure == "none")
    assert session.controller_status().planned_drain == "s3"
    with pytest.raises(UsageError, match="already drained"):
        session.drain("s3")
    session.fail("switch:s4")
    with pytest.raises(UsageError, match="s4 is down"):
        session.drain("s4")

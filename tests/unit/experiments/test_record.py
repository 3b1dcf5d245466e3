"""Records of runs: stored, opened and drawn without anything that runs, as any backend would give them."""

from dataclasses import replace

import numpy as np
import pytest

import polarlab
from controller.occupancy.queues import QueueState
from controller.openflow.frameworks import choose
from experiments.planned_fabric import PlannedFabric
from experiments.results.link_loads import LinkLog, directed_links
from experiments.results.manifest import run_manifest
from experiments.results.model import Adaptation, PairCheck
from experiments.results.open import Failover, Run, Sweep, open_results
from experiments.results.parts.faults import FaultRecord, InjectedFault, ReplanRecord
from experiments.results.parts.programs import ProgramRecord
from experiments.results.record import RunRecord
from experiments.results.run_directory import MANIFEST, SUMMARY, RunDirectory
from experiments.results.series import write_series
from experiments.results.summary import summarise
from experiments.results.tables import PROBES
from experiments.spec.collective import CollectiveOptions
from experiments.spec.fabric import FabricOptions
from experiments.spec.programs import ProgramTraffic
from experiments.spec.traffic import TrafficOptions
from experiments.validity.foreign_frames import HostBytes
from experiments.validity.samples import ControllerSamples, CpuSamples, HeldSamples, HeldSecond, SwitchSample
from topology.errors import ParameterError
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import parse_schedule
from topology.links import LinkSpec
from traffic.engine.wall_clock import ClockOffset
from traffic.metrics.histogram import LogHistogram
from traffic.metrics.measurements import (
    ARRIVAL,
    ITERATION,
    Clock,
    Received,
    Sent,
    TrafficResult,
    no_outcome,
    no_packets_received,
    no_packets_sent,
)

FRAMES = 10  # that every host sends to every other
FRAME_BYTES = 1000


def traffic_result(distances: np.ndarray) -> TrafficResult:
    """A second in which every pair's packets arrive after 1 ms a hop."""
    hosts = len(distances)
    frames = np.where(np.eye(hosts, dtype=bool), 0, FRAMES)
    latency = LogHistogram()
    latency.add(np.repeat(distances[frames > 0].astype(np.int64) * 1_000_000, FRAMES))
    lag = LogHistogram()
    lag.add(np.full(frames.sum(), 1000))
    sent_bytes = frames.sum(axis=1)[None, :] * FRAME_BYTES
    received = Received(
        frames=frames,
        run_frames=frames,
        latency_sum_ns=frames * distances * 1e6,
        out_of_order=np.zeros_like(frames),
        hops_min=np.where(frames > 0, distances, 255).astype(np.uint8),
        hops_max=distances.astype(np.uint8),
        hops=np.bincount(distances[frames > 0], minlength=256) * FRAMES,
        bytes=sent_bytes,
        window_bytes=sent_bytes[0],
        latency=latency,
        last_ns=0,
        misdelivered=0,
        damaged=0,
        log=np.zeros(0, ARRIVAL),
    )
    sent = Sent(frames=frames, run_frames=frames, bytes=sent_bytes, refused=0, lag=lag, seconds=1.0)
    return TrafficResult(sent, received, Clock(0, 0), 1_000_000_000, (0, 1_000_000_000))


@pytest.fixture
def record() -> RunRecord:
    topology = PolarFly(2)
    options = FabricOptions("polarfly", {"q": 2}, topology, 1, "min", LinkSpec(1_000_000, 32), "user")
    fabric = PlannedFabric(
        options=options,
        bringup_s={"build": 1.0},
        datapath="user",
        framework=choose().name,
    )
    return RunRecord(
        fabric=fabric,
        traffic=TrafficOptions("uniform", 0.48, FRAME_BYTES, 64, 0.0, 1.0, seed=1),
        check=PairCheck(42, 42, 0, 0, 2, seconds=0.5),
        result=traffic_result(fabric.host_distances()),
        cpu=CpuSamples([1.0], [0.9], [0.0]),
        links=None,
        adaptation=Adaptation(None, 0),
    )


def test_a_summary_follows_from_the_record(record):
    summary = summarise(record)
    assert summary.offered == summary.accepted == pytest.approx(6 * FRAMES * FRAME_BYTES * 8 / 1e6)
    assert (summary.packets.sent, summary.packets.received, summary.loss) == (420, 420, 0)
    assert summary.hops_as_distances
    assert summary.predicted.accepted == pytest.approx(0.48)
    assert summary.bringup_s == {"build": 1.0, "verify": 0.5}
    assert summary.adaptation is summary.links is None


@pytest.mark.parametrize("counted", ["frames", "run_frames"])
def test_a_pair_with_more_packets_than_were_sent_is_noticed_although_others_lost_some(record, counted):
    frames = record.result.received.frames.copy()
    frames[0, 1] += 2
    frames[1, 2] -= 5
    lossy = np.array(record.result.received.bytes)
    lossy[0, 2] -= 3 * FRAME_BYTES
    received = replace(record.result.received, **{counted: frames}, bytes=lossy)
    reasons = summarise(replace(record, result=replace(record.result, received=received))).fidelity.reasons
    assert "2 more packets arrived than hosts were scheduled to send" in reasons


def test_damaged_frames_make_a_run_not_valid(record):
    received = replace(record.result.received, damaged=3)
    fidelity = summarise(replace(record, result=replace(record.result, received=received))).fidelity
    assert not fidelity.valid
    assert any("3 damaged" in reason for reason in fidelity.reasons)


CLOCK_READINGS = [ClockOffset(7_000_000, 7_000_050), ClockOffset(6_999_990, 7_000_010)]


@pytest.mark.parametrize(
    ("later", "said"),
    [
        ([], []),
        ([ClockOffset(5_000_000, 9_000_000)], []),  # a pause between two reads
        ([ClockOffset(37_000_000, 37_000_050)], ["the machine's clock was set by +30 ms"]),
        ([ClockOffset(-293_000_000, -292_999_950)], ["the machine's clock was set by -300 ms"]),
        ([ClockOffset(12_000_000, 12_000_050), *CLOCK_READINGS], ["the machine's clock was set by"]),
    ],
)
def test_a_clock_that_is_set_during_a_measurement_makes_it_not_valid(record, later, said):
    for offset in [*CLOCK_READINGS, *later]:
        record.clock.add(offset)
    reasons = [reason for reason in summarise(record).fidelity.reasons if "clock" in reason]
    assert len(reasons) == len(said)
    assert all(reason.startswith(start) for reason, start in zip(reasons, said, strict=True))


def test_a_negative_latency_is_never_valid(record):
    record.result.received.latency.add(np.array([-5_000_000, -1, 1_000_000]))
    summary = summarise(record)
    assert "2 packets arrived before they were sent" in summary.fidelity.reasons


FAILED_BEFORE = FaultRecord((InjectedFault(0.0, "fail link:s1-s5"),), ())


def scheduled(record):
    """The record of a run whose own schedule fails a link."""
    (fault,) = parse_schedule("0.5 fail link:s1-s5", record.fabric.options.topology)
    return replace(record, traffic=replace(record.traffic, faults=(fault,)), faults=FaultRecord((), ()))


@pytest.mark.parametrize(
    ("routing", "changed", "doubted"),
    [
        ("ugal-pf", replace, True),
        ("ugal-pf", lambda record: replace(record, faults=FAILED_BEFORE), True),
        ("ugal-pf", scheduled, False),
        ("min", replace, False),
    ],
)
def test_warnings_about_the_adaptation_make_a_run_not_valid(record, routing, changed, doubted):
    warned = Adaptation("port-statistics", 3, ("s1 answers requests for port statistics late", "s2 too"))
    options = replace(record.fabric.options, routing=routing)
    record = replace(record, fabric=replace(record.fabric, options=options), adaptation=warned)
    reasons = summarise(changed(record)).fidelity.reasons
    assert any("s1 answers requests for port statistics late" in reason for reason in reasons) == doubted


def host_bytes(record, **others):
    result = record.result
    counts = {"sent": result.sent.bytes.sum(axis=0), "received": result.received.bytes.sum(axis=0)}
    return replace(record, host_bytes=HostBytes(**{**counts, **others}))


def test_other_frames_of_hosts_and_deleted_interfaces_make_a_run_not_valid(record):
    quiet = host_bytes(record).host_bytes
    assert not any("h" in reason[:1] for reason in summarise(host_bytes(record)).fidelity.reasons)
    flood = 100_000 * (np.arange(7) == 2)
    reasons = summarise(host_bytes(record, sent=quiet.sent + flood)).fidelity.reasons
    assert f"h3_1 sent 100,000 bytes besides the {quiet.sent[2]:,} measured ones" in reasons
    reasons = summarise(host_bytes(record, received=quiet.received + flood)).fidelity.reasons
    assert f"h3_1 received 100,000 bytes besides the {quiet.received[2]:,} measured ones" in reasons
    gone = np.where(flood, 0, quiet.received)
    assert "interfaces of h3_1 were deleted" in summarise(host_bytes(record, received=gone)).fidelity.reasons


def test_other_frames_of_hosts_are_excused_by_the_schedule_of_the_run_and_by_no_earlier_failure(record):
    flooded = host_bytes(record, sent=host_bytes(record).host_bytes.sent + 100_000 * (np.arange(7) == 2))
    assert not summarise(replace(flooded, faults=FAILED_BEFORE)).fidelity.valid
    assert summarise(scheduled(flooded)).fidelity.valid


def held_samples(waiting):
    """Two halves of a second, in each of which 100 frames reached every switch and so many waited."""
    switches = {f"s{n}": SwitchSample(100, waiting, 4 * waiting**2) for n in range(1, 8)}
    return HeldSamples([HeldSecond(0.0, 0.5, switches), HeldSecond(0.5, 1.0, switches)])


def test_the_worst_second_is_told_and_queueing_is_latency_less_what_switches_held(record):
    packet_ms = FRAME_BYTES * 8 / record.fabric.options.links.rate_bps * 1e3
    summary = summarise(replace(record, held=held_samples(0.02)))
    fidelity = summary.fidelity
    held = 0.02 * 500 / 100 / packet_ms
    assert fidelity.held_frame_times_max == pytest.approx(held, abs=1e-4)
    assert fidelity.held_frame_times_mean == pytest.approx(held, abs=1e-4)
    assert fidelity.held_frame_times_rms == pytest.approx(2 * held, abs=1e-4)
    assert fidelity.worst_switch in {f"s{n}" for n in range(1, 8)}
    queueing = summary.latency_ms.mean / packet_ms - (summary.hops_mean + 1) * fidelity.held_frame_times_mean
    assert summary.queueing_frame_times == pytest.approx(queueing, abs=1e-5)
    assert summarise(record).queueing_frame_times is None


def test_switches_that_were_made_to_fail_are_not_judged_while_they_are_off(record):
    seconds = [
        HeldSecond(0.0, 0.5, {"s4": SwitchSample(100, 50.0), "s5": SwitchSample(100, 0.01)}),
        HeldSecond(0.5, 1.0, {"s4": SwitchSample(100, 0.01), "s5": SwitchSample(100, 0.01)}),
    ]
    failed = FaultRecord((InjectedFault(0.1, "fail hang:s4"), InjectedFault(0.4, "restore hang:s4")), ())
    assert summarise(replace(record, held=HeldSamples(seconds))).fidelity.worst_switch == "s4"
    judged = summarise(replace(record, held=HeldSamples(seconds), faults=failed)).fidelity
    assert judged.worst_switch == "s5"


def until(record, last_ns, **observed):
    """Returns the record with a last packet of the window that arrived at that time."""
    result = replace(record.result, received=replace(record.result.received, last_ns=last_ns))
    return replace(record, result=result, **observed)


def test_what_happens_after_the_window_is_judged_until_its_last_packet_has_arrived(record):
    prompt, late = ({"s4": SwitchSample(100, waiting)} for waiting in (0.01, 50.0))
    held = HeldSamples([HeldSecond(0.0, 1.0, prompt), HeldSecond(1.0, 2.0, late)])
    cpu = CpuSamples([1.0, 2.0], [0.9, 0.9], [0.0, 0.6])
    assert summarise(until(record, 900_000_000, held=held, cpu=cpu)).fidelity.valid
    reasons = summarise(until(record, 2_000_000_000, held=held, cpu=cpu)).fidelity.reasons
    assert any(reason.startswith("s4 held frames") for reason in reasons)
    assert any("steal time reached 60%" in reason for reason in reasons)


def settling(record, settling_s, **observed):
    """Returns the record with a window from 2 to 3 s, on which a stall before it acts for that time."""
    window_ns = (2_000_000_000, 3_000_000_000)
    result = replace(record.result, window_ns=window_ns, settling_ns=round(settling_s * 1e9))
    return replace(record, result=result, **observed)


def test_a_stall_shortly_before_the_window_is_judged_and_an_earlier_one_is_not(record):
    prompt, stalled = ({"s4": SwitchSample(100, waiting)} for waiting in (0.01, 50.0))
    held = HeldSamples([HeldSecond(n, n + 1.0, stalled if n == 1 else prompt) for n in range(3)])
    cpu = CpuSamples([1.0, 2.0, 3.0], [0.9] * 3, [0.0, 0.6, 0.0])
    assert summarise(settling(record, 0.0, held=held, cpu=cpu)).fidelity.valid
    fidelity = summarise(settling(record, 1.0, held=held, cpu=cpu)).fidelity
    assert any(reason.startswith("s4 held frames") for reason in fidelity.reasons)
    assert any("steal time reached 60%" in reason for reason in fidelity.reasons)
    assert fidelity.held_frame_times_mean < 0.1, "the mean belongs to the window's latencies"


def backlogged(record, frames, latency_ms, **traffic):
    """Returns the record with so many more packets of each host in the window, and other latencies."""
    received, latency = record.result.received, LogHistogram()
    latency.add(np.full(received.latency.count, round(latency_ms * 1e6)))
    more = received.window_bytes + frames * FRAME_BYTES
    result = replace(record.result, received=replace(received, window_bytes=more, latency=latency))
    return replace(record, traffic=replace(record.traffic, **traffic), result=result)


def test_more_packets_in_the_window_than_were_offered_are_a_reason_unless_chance_explains_them(record):
    def doubted(*changes, **traffic):
        reasons = summarise(backlogged(record, *changes, **traffic)).fidelity.reasons
        return any("it began with a backlog" in reason for reason in reasons)

    assert not doubted(0, 8.0)
    assert not doubted(2, 8.0)
    assert doubted(20, 8.0)
    assert not doubted(20, 300.0)  # queues that are always full are so at the window's start
    faults = parse_schedule("0.5 fail link:s1-s5", record.fabric.options.topology)
    assert not doubted(20, 8.0, faults=tuple(faults))


def unsent(record, hosts):
    return replace(record, result=replace(record.result, sent=replace(record.result.sent, unsent=hosts)))


def test_a_host_whose_interface_is_down_is_a_reason_unless_its_link_was_made_to_fail(record):
    down = unsent(record, 5 * (np.arange(7) == 2))
    assert "interfaces of h3_1 were down: 5 packets could not be sent" in summarise(down).fidelity.reasons
    failed = FaultRecord((InjectedFault(0.1, "fail link:s3-h3_1"),), ())
    assert summarise(replace(down, faults=failed)).fidelity.valid
    assert summarise(unsent(record, np.zeros(7, np.int64))).fidelity.valid


def test_drops_of_other_frames_offset_no_losses(record):
    received = record.result.received
    fewer = received.frames - 2 * (received.frames > 0)
    lost = int((received.frames - fewer).sum())
    received = replace(
        received, frames=fewer, run_frames=fewer, bytes=fewer.sum(axis=0)[None, :] * FRAME_BYTES
    )
    lossy = scheduled(replace(record, result=replace(record.result, received=received)))
    lossy = replace(lossy, links=LinkLog(dropped_packets=lost))
    sent = int(record.result.sent.frames.sum())
    assert summarise(host_bytes(lossy, frames_sent=sent)).fidelity.lost_outside_queues == 0
    fidelity = summarise(host_bytes(lossy, frames_sent=sent + 1000)).fidelity
    assert fidelity.lost_outside_queues == pytest.approx(lost / sent, abs=1e-4)
    assert not fidelity.valid


@pytest.mark.parametrize(
    ("iteration", "gap_ms", "stood"), [(1, 30, ""), (1, 160, "160 ms; limit 60 ms"), (-1, 160, "")]
)
def test_a_process_of_all_ranks_that_stands_still_in_a_measured_iteration_is_a_reason(
    record, iteration, gap_ms, stood
):
    rows = [(4096, 0, 0, 240_000_000, 0, 1_000_000), (4096, iteration, 0, 300_000_000, 0, gap_ms * 1_000_000)]
    outcome = replace(no_outcome(7, range(7), 1.0, ""), iterations=np.array(rows, ITERATION))
    traffic = CollectiveOptions("allreduce:ring", 7, "linear", (4096,), 2, 1, 1, FRAME_BYTES, 16, seed=1)
    result = replace(record.result, outcome=outcome)
    reasons = summarise(replace(record, traffic=traffic, result=result)).fidelity.reasons
    assert any("stalled" in reason for reason in reasons) == bool(stood)
    assert stood in "".join(reasons)


def test_a_time_after_the_window_that_nobody_observed_is_a_reason_while_packets_are_under_way(record):
    assert summarise(until(record, 1_000_000_000, held=held_samples(0.02))).fidelity.valid
    fidelity = summarise(until(record, 1_500_000_000, held=held_samples(0.02))).fidelity
    assert "held frames observed for 1.2 of 1.5 s" in fidelity.reasons


def test_a_run_of_any_backend_is_stored_opened_and_drawn(record, tmp_path):
    directory = RunDirectory(tmp_path / "run")
    manifest = run_manifest(record.fabric, record.traffic.settings(), 1)
    directory.write_record(MANIFEST, manifest)
    directory.write_record(SUMMARY, summarise(record))
    write_series(directory, record)
    run = open_results(tmp_path / "run")
    assert isinstance(run, Run)
    assert run.summary == summarise(record)
    assert run.manifest == manifest
    assert run.replications == (run,)
    assert {path.stem for path in polarlab.plot(tmp_path / "run").save()} == {"throughput", "latency"}


def test_a_run_of_programs_alone_has_no_figures_of_packets(record, tmp_path):
    seconds = 3.0
    nothing = TrafficResult(
        no_packets_sent(7, seconds), no_packets_received(7), Clock(0, 0), 1, (0, 3_000_000_000)
    )
    program = ProgramRecord(
        host="h1_1", command="true", status=0, started_s=0.0, ended_s=3.0, output="o", errors="e"
    )
    alone = replace(
        record,
        traffic=ProgramTraffic(1514, 1),
        result=nothing,
        cpu=CpuSamples([1.0, 2.0], [0.9, 0.8], [0.0, 0.1]),
        programs=(program,),
    )
    summary = summarise(alone)
    assert (summary.offered, summary.accepted, summary.loss, summary.load) == (None, None, None, None)
    assert (summary.hops_as_distances, summary.latency_ms.mean, summary.predicted) == (None, None, None)
    assert (summary.pattern, summary.measured_s, summary.programs) == ("programs", seconds, (program,))
    assert summary.fidelity.valid
    assert summary.fidelity.cpu_idle == 0.8
    directory = RunDirectory(tmp_path / "run")
    directory.write_record(SUMMARY, summary)
    write_series(directory, alone)
    assert open_results(tmp_path / "run").summary == summary
    assert not (tmp_path / "run" / "throughput.csv").exists()


def test_what_is_left_of_a_broken_run_is_kept_and_not_valid(record, tmp_path):
    text = "the collect process was killed by SIGKILL"
    broken = replace(record.result, received=no_packets_received(7), failed=text)
    summary = summarise(replace(record, result=broken, troubles=(text,)))
    assert summary.fidelity.reasons == (text,)
    assert (summary.packets.sent, summary.packets.received, summary.offered) == (420, 0, 0.48)


def test_more_packets_than_were_sent_are_a_reason_unless_counting_was_cut_off(record):
    sent = replace(record.result.sent, bytes=record.result.sent.bytes - FRAME_BYTES)
    more = replace(record.result, sent=sent)
    assert any(
        "more packets" in reason for reason in summarise(replace(record, result=more)).fidelity.reasons
    )
    cut_off = summarise(replace(record, result=replace(more, interrupted=True)))
    assert not any("more packets" in reason for reason in cut_off.fidelity.reasons)


def test_what_the_controller_took_out_of_use_unasked_is_a_reason_also_beside_scheduled_faults(record):
    scheduled = FaultRecord((InjectedFault(0.1, "fail link:s2-s5"),), ())
    for faults in (None, scheduled):
        summary = summarise(replace(record, faults=faults, unasked=("s1-s6",)))
        assert not summary.fidelity.valid
        assert any("s1-s6" in reason for reason in summary.fidelity.reasons)


def test_a_scheduled_fault_of_the_controller_or_a_line_at_the_prompt_excuses_no_other_stop(record):
    adaptive = replace(record, fabric=replace(record.fabric, occupancy="netem"))
    faults = FaultRecord((InjectedFault(0.1, "fail link:s2-s5"), InjectedFault(0.9, "fail controller")), ())
    for one in (adaptive, replace(record, faults=faults), replace(adaptive, lines=())):
        running = summarise(replace(one, controller=ControllerSamples())).fidelity
        assert (running.valid, running.observed) == (True, 1.0)
        stopped = summarise(replace(one, controller=ControllerSamples([(0.2, 0.23)]))).fidelity
        assert (stopped.valid, stopped.observed) == (False, 0.97)


def test_a_controller_that_was_stopped_matters_only_where_paths_may_change(record):
    assert summarise(replace(record, controller=ControllerSamples([(0.2, 0.9)]))).fidelity.valid


def test_what_links_did_is_drawn_where_it_was_observed(record, tmp_path):
    observed = RunRecord(**{**vars(record), "links": LinkLog()})
    directory = RunDirectory(tmp_path / "run")
    directory.write_record(SUMMARY, summarise(observed))
    write_series(directory, observed)
    assert {path.stem for path in polarlab.plot(tmp_path / "run").save()} == {
        "throughput",
        "latency",
        "links",
    }


def test_a_folder_is_opened_as_what_it_holds(tmp_path):
    for name, file, kind in (("f", PROBES, Failover), ("s", "points.csv", Sweep), ("r", SUMMARY, Run)):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("")
        assert type(open_results(tmp_path / name)) is kind
    (tmp_path / "empty").mkdir()
    for name in ("empty", "nowhere", "r/summary.json"):
        with pytest.raises(ParameterError, match=name):
            open_results(tmp_path / name)


NOTHING = QueueState(0, 0, 0, 0)


def counted(log, link, lost, sent, dropped=0):
    """Has a log note that a link lost, sent and dropped packets of 60 bytes."""
    after = QueueState(0, 0, 60 * sent, dropped, lost, sent)
    log.note((link.source + 1, link.port), NOTHING, after, 1.0, 10**6)


def reasons_of_loss(record, log):
    """Returns the reasons to doubt the loss of links that should lose a tenth."""
    options = replace(record.fabric.options, links=LinkSpec(1_000_000, 32, loss=0.1))
    lossy = replace(record, links=log, fabric=replace(record.fabric, options=options))
    return [reason for reason in summarise(lossy).fidelity.reasons if "--link-loss" in reason]


def test_the_losses_of_all_links_and_of_no_hosts_link_are_judged(record):
    log = LinkLog()
    for number, link in enumerate(directed_links(record.fabric.options.topology)):
        counted(log, link, lost=100 * (number + 1), sent=890 * (number + 1), dropped=10 * (number + 1))
    hosts_port = record.fabric.options.topology.host_port(0, 0)
    log.note((1, hosts_port), NOTHING, QueueState(0, 0, 10**6, 0, 0, 50_000), 1.0, 10**6)
    assert reasons_of_loss(record, log) == []
    assert log.lost_packets == 100 * sum(range(1, 19))


def test_a_result_names_the_link_that_lost_too_much(record):
    log = LinkLog()
    links = directed_links(record.fabric.options.topology)
    for link in links:
        counted(log, link, lost=330 if link is links[-1] else 229, sent=2287 - 229)
    (reason,) = reasons_of_loss(record, log)
    assert f"link {links[-1].name} lost " in reason


def losing(record, lost, **more):
    """Returns the record of a run that lost `lost` packets per ordered pair of hosts, outside all queues."""
    received, sent = record.result.received, record.result.sent
    frames = received.frames - lost
    arrived = received.bytes - lost.sum(axis=0) * FRAME_BYTES
    received = replace(received, frames=frames, run_frames=frames, bytes=arrived)
    steady = np.repeat(sent.bytes // FRAMES, FRAMES, axis=0)  # in ten intervals
    result = replace(
        record.result, sent=replace(sent, bytes=steady), received=received, interval_ns=100_000_000
    )
    return replace(record, result=result, links=LinkLog(read_s=[(0.0, 1.0)]), **more)


def of_host(record, number, lost):
    """Returns that number of packets for each pair of the host, and 0 for all others."""
    pairs = np.zeros_like(record.result.sent.frames)
    pairs[number, :] = pairs[:, number] = lost
    np.fill_diagonal(pairs, 0)
    return pairs


CUT_OFF = {
    "switch": ("fail switch:s4",),
    "hang": ("fail hang:s4",),
    "links": ("fail link:s2-s4", "fail link:s3-s4", "fail link:s4-s6"),
    "a host's link": ("fail link:s4-h4_1",),
}


@pytest.mark.parametrize("failed", CUT_OFF.values(), ids=CUT_OFF)
def test_packets_of_hosts_that_a_schedule_cuts_off_are_counted_apart_and_leave_the_run_valid(record, failed):
    faults = FaultRecord(tuple(InjectedFault(0.5, line) for line in failed), ())
    planned = replace(faults, replanned=(ReplanRecord(0.5001, "s4", 24, 0, 0.0, 0.0),))
    lost = of_host(record, 3, FRAMES // 2)
    summary = summarise(losing(record, lost, faults=planned))
    assert summary.fidelity.valid, summary.fidelity.reasons
    assert (summary.faults.lost_packets, summary.fidelity.lost_outside_queues) == (lost.sum(), 0)
    assert summary.faults.losses == f"{lost.sum()} packets were lost to the scheduled failures"
    assert not summarise(losing(record, lost)).fidelity.valid


@pytest.mark.parametrize(
    ("host", "lost"), [(0, FRAMES // 2), (3, FRAMES)], ids=["of other hosts", "before the failure"]
)
def test_losses_that_no_failure_explains_still_make_a_run_not_valid(record, host, lost):
    failed = InjectedFault(0.8, "fail switch:s4")
    faults = FaultRecord((failed,), (ReplanRecord(0.8001, "s4", 24, 0, 0.0, 0.0),))
    fidelity = summarise(losing(record, of_host(record, host, lost), faults=faults)).fidelity
    assert not fidelity.valid
    assert any("outside the links' queues" in reason for reason in fidelity.reasons)
    assert fidelity.lost_outside_queues > 0.05


def test_packets_over_a_failed_switch_are_the_failures_until_the_controller_has_planned_around_it(record):
    """Of s2 and s6, which are joined by s4 alone."""
    lost = np.zeros_like(record.result.sent.frames)
    lost[1, 5] = lost[5, 1] = FRAMES
    for planned_s, valid in ((0.9, True), (0.51, False)):
        plan = ReplanRecord(planned_s, "s4", 24, 0, 0.0, 0.0)
        faults = FaultRecord((InjectedFault(0.5, "fail hang:s4"),), (plan,))
        assert summarise(losing(record, lost, faults=faults)).fidelity.valid is valid


@pytest.mark.parametrize(("avoided", "valid"), [("s1-s5, s2-s4", False), ("s1-s5", True), ("none", True)])
def test_failures_that_the_plan_avoids_when_the_traffic_starts_take_no_packets_over_other_paths(
    record, avoided, valid
):
    failed = tuple(InjectedFault(0.0, f"fail link:{link}") for link in ("s1-s5", "s2-s4"))
    lost = of_host(record, 2, 2)
    summary = summarise(losing(record, lost, faults=FaultRecord(failed, ()), avoided=avoided))
    assert summary.fidelity.valid is valid
    assert summary.faults.lost_packets == (lost.sum() if valid else 0)


def test_hosts_that_an_earlier_failure_cuts_off_lose_their_packets_to_it(record):
    faults = FaultRecord((InjectedFault(0.0, "fail switch:s4"),), ())
    lost = of_host(record, 3, FRAMES)
    summary = summarise(losing(record, lost, faults=faults, avoided="s4"))
    assert (summary.fidelity.valid, summary.faults.lost_packets) == (True, lost.sum())


def test_when_each_pair_sent_its_packets_need_not_be_known(record):
    """Two hosts sent more of their packets to s4 while it was off, and others fewer."""
    lost = of_host(record, 3, 3)
    lost[3, :3] = lost[:3, 3] = FRAMES
    faults = FaultRecord((InjectedFault(0.3, "fail switch:s4"),), ())
    assert summarise(losing(record, lost, faults=faults)).fidelity.valid

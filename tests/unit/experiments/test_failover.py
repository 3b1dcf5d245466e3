"""What probes tell of a failure: losses, silences, and who repaired it; on made-up arrivals."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from support.builders import records

import polarlab
from controller.reports import Replanned
from experiments.failover.course import Course, repaired_by
from experiments.failover.demonstration import busiest_link
from experiments.failover.probes import Probes
from experiments.report.failover import failover_page
from experiments.results.failover import ControllerRestart, FailoverSummary, Phase, Phases
from experiments.results.open import Failover
from experiments.results.parts.faults import FaultRecord
from experiments.results.run_directory import RunDirectory
from experiments.results.tables import EVENT_COLUMNS, EVENTS, PROBE_COLUMNS, PROBES
from experiments.spec.failover import FailoverOptions
from polarlab.cli.commands.demo import print_summary
from polarlab.cli.parser import parse
from topology.errors import ParameterError
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import ComponentKind
from traffic.metrics.measurements import ARRIVAL
from traffic.workload.schedule import ProbeSchedule, ProbeStream

SCHEDULE = ProbeSchedule(3, (ProbeStream((1, 5), 1_000_000), ProbeStream((1, 5, 7), 10_000_000)), 100_000_000)
HOP_S = 0.0001


def probes(
    lost=lambda time_s, pair: False, interrupted_s=None, heard_s=1.0, forged=(), late_s=lambda time_s: 0.0
):
    """Probes that take 0.1 ms each, but for those that are lost; after `heard_s` nobody listens."""
    rows = []
    for events in SCHEDULE.chunks():
        columns = (events.time_ns, events.source, events.destination, events.flow, events.sequence)
        rows += [
            (source, destination, sequence, flow, 2, left, left + int(HOP_S * 1e9))
            for time, source, destination, flow, sequence in zip(*(c.tolist() for c in columns), strict=True)
            for left in [time + int(late_s(time / 1e9) * 1e9)]
            if not lost(time / 1e9, source * 3 + destination) and time / 1e9 + HOP_S <= heard_s
        ]
    result = SimpleNamespace(
        received=SimpleNamespace(log=np.array([*rows[::-1], *forged], ARRIVAL)),
        interrupted=interrupted_s is not None,
        failed="",
        sent=SimpleNamespace(seconds=interrupted_s),
    )
    return Probes(SCHEDULE, result)


def test_a_probe_that_another_host_makes_up_is_not_the_one_that_was_lost():
    everything = {"lost": lambda _time_s, pair: pair == 1}
    forged = [(0, 2, number, 0, 2, 0, 1000) for number in range(100)]
    assert probes(**everything, forged=forged).phase(0, 1).lost == probes(**everything).phase(0, 1).lost > 0


def cut(begin_s, end_s, pairs=(1, 5)):
    return lambda time_s, pair: begin_s <= time_s < end_s and pair in pairs


def test_where_nothing_is_lost_the_silence_is_the_interval():
    seen = probes()
    assert seen.arrived.all()
    assert seen.longest_silence_s(0.01, 0.09) == pytest.approx(0.001, abs=HOP_S * 1.01)
    assert seen.all_recovered_s(0.02, 0.06) == 0.02


def test_a_silence_is_as_long_as_the_time_between_two_arrivals():
    seen = probes(cut(0.03, 0.05, pairs=(5,)))
    # 20 intervals of the fast stream, and what the slow one would have sent in between.
    assert (~seen.arrived).sum() == 20 + 2
    assert seen.longest_silence_s(0.02, 0.08) == pytest.approx(0.021, abs=HOP_S)
    assert seen.all_recovered_s(0.02, 0.08) == pytest.approx(0.0505 + HOP_S)


def test_a_pair_that_stays_silent_is_silent_to_the_end_of_the_time():
    seen = probes(cut(0.03, 1.0))
    assert seen.longest_silence_s(0.03, 0.08) == pytest.approx(0.05, abs=1e-3)
    assert seen.all_recovered_s(0.03, 0.08) is None


def test_what_was_not_sent_before_an_interruption_is_not_lost():
    assert len(probes(interrupted_s=0.05).sent_s) == pytest.approx(0.5 * len(probes().sent_s), rel=0.02)


def test_what_was_sent_after_the_last_arrival_of_an_interrupted_failover_is_not_lost():
    """Hosts stop listening before others stop sending, and the planned end never comes."""
    seen = probes(interrupted_s=0.06, heard_s=0.04)
    assert seen.arrived.all()
    assert seen.end_s == pytest.approx(0.04, abs=1e-3)
    assert seen.longest_silence_s(0.02, 0.08) == pytest.approx(0.001, abs=HOP_S * 1.01)
    assert seen.phase(0.06, 0.1).sent == 0
    assert max(row[0] for row in seen.series(0.1)) == pytest.approx(0.04, abs=0.011)


def test_losses_before_an_interruption_are_losses():
    seen = probes(cut(0.02, 0.03, pairs=(5,)), interrupted_s=0.06, heard_s=0.04)
    assert (~seen.arrived).sum() == 10 + 1
    assert seen.longest_silence_s(0.02, 0.08) == pytest.approx(0.011, abs=1e-3)
    assert len(probes(cut(0.0, 1.0, pairs=(1, 5, 7)), interrupted_s=0.06).sent_s) == 0


def stopped(begin_s, end_s):
    """A sender that is stopped for a time sends all that is due in it at its end."""
    return lambda time_s: end_s - time_s if begin_s <= time_s < end_s else 0.0


@pytest.mark.parametrize(
    ("sender", "lag"),
    [
        (stopped(0.03, 0.045), "a probe left 15 ms late"),
        (stopped(0.03, 0.038), None),  # ten intervals are tolerated
        (stopped(0.0, 0.02), None),  # it is not late during the failure
        (stopped(0.082, 0.1), None),
    ],
)
def test_a_sender_that_is_late_during_the_failure_is_a_reason(sender, lag):
    options, nothing = FailoverOptions(fail_s=0.03, restore_s=0.08, end_s=0.1), lambda _clock: ()
    faults = SimpleNamespace(done=(), replans=nothing, ports_set=nothing, record=nothing, restart=nothing)
    course = Course(options, probes(late_s=sender), faults, None)
    gap_ms = course.probes.longest_silence_s(0.03, 0.08) * 1e3
    assert [doubt.partition(" during")[0] for doubt in course.lag_doubts(gap_ms)] == ([lag] if lag else [])
    # A repair that took twice as long explains the silence.
    assert course.lag_doubts(40.0) == []


def test_pairs_that_the_failure_cut_off_are_counted_before_its_restoration_begins():
    """Four links return one after another: the last plan before the first one cuts nothing off."""
    options, nothing = FailoverOptions(fail_s=0.03, restore_s=0.08, end_s=0.1), lambda _clock: ()
    planned = {"rules": 1, "rounds": 1, "cut_off": (), "planning_s": 0.001, "seconds": 0.002}
    replans = [
        (0.04, Replanned("s1-s10 s1-s11", cut_off_pairs=24, **planned)),
        (0.09, Replanned("s1-s10", cut_off_pairs=0, **planned)),
        (0.095, Replanned("none", cut_off_pairs=0, **planned)),
    ]
    faults = SimpleNamespace(
        done=(), replans=lambda _clock: replans, ports_set=nothing, record=nothing, restart=nothing
    )
    fabric = SimpleNamespace(
        options=SimpleNamespace(name="polarfly", params={"q": 3}, routing="min", hosts=1, local_repair=True)
    )
    assert Course(options, probes(), faults, None).summary(fabric, 4).cut_off_pairs == 24


@pytest.mark.parametrize(
    ("heard_s", "converged_s", "who"),
    [
        (2.01, 2.2, "switches"),
        (2.01, None, "switches"),
        (2.3, 2.2, "controller"),
        (None, 2.2, "nobody"),
    ],
)
def test_who_repaired_follows_from_what_came_first(heard_s, converged_s, who):
    assert repaired_by(heard_s, converged_s, broken=True) == who


def test_without_a_fault_nobody_had_to_repair():
    assert repaired_by(None, None, broken=False) == "nothing was broken"


PHASE = Phase(sent=100, lost=0, longest_silence_ms=1.0, hops_mean=2.0, hops_max=2)
SUMMARY = FailoverSummary(
    name="polarfly",
    params={"q": 3},
    routing="min",
    hosts=1,
    local_repair=True,
    failed=("controller",),
    pairs_watched=4,
    packets_sent=300,
    packets_lost=59,
    gap_ms=1.0,
    probe_interval_ms=1.0,
    all_pairs_interval_ms=100.0,
    repaired_by="nothing was broken",
    repaired_ms=None,
    controller_converged_ms=None,
    cut_off_pairs=0,
    silent_pairs=0,
    faults=FaultRecord((), ()),
    lost_at_restore=0,
    phases=Phases(PHASE, PHASE, PHASE),
    pairs_affected=0,
)


@pytest.mark.parametrize(("stolen_ms", "excuse"), [(10, False), (310, True)])
def test_losses_while_processor_time_was_stolen_say_so(stolen_ms, excuse):
    reason = replace(SUMMARY, cpu_stolen_ms=stolen_ms).reason(())
    assert reason.startswith("59 probes were lost")
    assert ("310 ms" in reason) is excuse
    assert replace(SUMMARY, packets_lost=0).reason(()) is None


def test_a_summary_is_read_as_it_was_written(tmp_path):
    RunDirectory(tmp_path / "demo").write_record("summary.json", SUMMARY)
    assert Failover(tmp_path / "demo").summary == SUMMARY


def test_the_busiest_link_is_one_of_a_quadric():
    """Minimal paths of 2q pairs cross it in each direction; those of 2q - 1 any other."""
    graph = PolarFly(5)
    component = busiest_link(graph)
    assert component.kind is ComponentKind.LINK
    assert min(graph.degrees[list(component.routers)]) == 5


def test_a_damaged_folder_is_told(tmp_path):
    directory = RunDirectory(tmp_path / "demo")
    directory.write_record("summary.json", {"name": "polarfly"})
    directory.write_csv(PROBES, PROBE_COLUMNS, [(0.0, "watched", 1, 0, 2, 2), (0.01, "watched", 1, 0, 2, 2)])
    directory.write_csv(EVENTS, EVENT_COLUMNS, [(0.0, "fail link:s1-s2")])
    with pytest.raises(ParameterError, match="damaged"):
        polarlab.plot(tmp_path / "demo").save()


def test_an_interrupted_failover_says_so_in_its_figure_and_first_in_its_report(tmp_path):
    directory = RunDirectory(tmp_path / "demo")
    directory.write_record("manifest.json", records.run_manifest())
    directory.write_record("summary.json", replace(SUMMARY, interrupted=True))
    directory.write_csv(PROBES, PROBE_COLUMNS, [(0.0, "watched", 1, 0, 2, 2), (0.0, "all", 1, 0, 2, 2)])
    directory.write_csv(EVENTS, EVENT_COLUMNS, [(0.0, "fail link:s1-s2")])
    figure = polarlab.plot(tmp_path / "demo")["failover"]
    assert "interrupted" in figure.get_suptitle()
    first = failover_page(Failover(tmp_path / "demo")).sections[0].note
    assert "interrupted" in first.split(". ")[0]


def test_a_controller_that_fails_alone_is_gone_in_the_very_phase_that_is_told_of():
    options = FailoverOptions(kill_controller=True)
    assert [(fault.time_s, fault.line.split()[1]) for fault in options.schedule(())] == [
        (options.fail_s, "fail"),
        (options.restore_s, "restore"),
    ]


def test_the_time_until_a_new_controllers_plan_is_told_in_its_parts(capsys):
    arguments = parse(["demo", "failover"])
    restart = ControllerRestart(800.0, 900.0, 2100.0, 3000.0)
    summary = replace(SUMMARY, controller_converged_ms=4030.0, controller_restart=restart)
    print_summary(arguments, summary)
    note = capsys.readouterr().out.splitlines()[-1]
    assert note.startswith("controller_converged_ms 4030: 800 until a new controller was started, 900 until")
    assert "1200 until the last switch had called it (switches call again after 1 to 4 s), 1130 until" in note
    print_summary(arguments, replace(summary, failed=("controller", "switch:s4")))
    assert capsys.readouterr().out.rstrip().endswith("at least 1.5 s for the switch that does not connect")
    print_summary(arguments, replace(summary, controller_restart=None))
    assert "switches call" not in capsys.readouterr().out

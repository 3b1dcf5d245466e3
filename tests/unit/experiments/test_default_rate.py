"""The link rate of an experiment that names none: its rule, what keeps its number, and the remedies by it."""

import json
import os
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.builders import records, result_folders

import polarlab
from experiments.codec import plain
from experiments.doctor.default_rate import link_rate_bps
from experiments.events.notices import Notice
from experiments.observation.observer import judged_now
from experiments.results.open import Sweep
from experiments.results.replications import combine
from experiments.results.rerun import at_held_rate, experiment_to_rerun
from experiments.spec.files.experiment_file import kept_content
from experiments.validity.judgement import Evidence, judge
from experiments.validity.samples import Held, HeldLately
from polarlab.api.requests import demonstration, traffic_request
from polarlab.cli.parser import parse
from routing.registry import make_plan
from topology.links import MIN_RATE_BPS, even_rate_bps, parse_rate_bps, rate_text

GRID = {step * 10**power for power in range(4, 11) for step in (1, 2, 5)}


def experiment_of(words):
    return parse(words.split()).experiment


def fabric_of(words):
    """The fabric that a command line asks for; of a sweep, that of its first point."""
    return experiment_of(words).resolve().fabric


def rate_of(words):
    return fabric_of(words).links.rate_bps


@pytest.fixture(autouse=True)
def processors(monkeypatch):
    """A machine of two processors, and how to change their number."""

    def have(number):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(number)))

    have(2)
    return have


# ---- the rule ----


@given(st.floats(1, 500), st.floats(0.01, 1), st.integers(64, 9000), st.floats(0, 30), st.booleans())
def test_what_is_carried_falls_with_hosts_load_and_hops_and_is_halved_by_detours(
    hosts, load, frame_bytes, hops, detours
):
    rate_bps = link_rate_bps(hosts, load, frame_bytes, hops, detours=detours)
    assert link_rate_bps(hosts, load, frame_bytes, hops, detours=True) * (1 if detours else 2) == (
        pytest.approx(rate_bps)
    )
    assert link_rate_bps(2 * hosts, load, frame_bytes, hops, detours=detours) == pytest.approx(rate_bps / 2)
    assert link_rate_bps(hosts, load / 2, frame_bytes, hops, detours=detours) == pytest.approx(2 * rate_bps)
    assert link_rate_bps(hosts, load, 2 * frame_bytes, hops, detours=detours) == pytest.approx(2 * rate_bps)
    assert link_rate_bps(hosts, load, frame_bytes, hops + 1, detours=detours) <= rate_bps


def test_twice_the_processors_carry_twice_as_much(processors):
    before = link_rate_bps(10, 0.5, 1000)
    processors(4)
    assert link_rate_bps(10, 0.5, 1000) == pytest.approx(2 * before)


@given(st.floats(0, 1e10))
def test_an_even_rate_is_the_greatest_of_the_grid_that_is_not_above(rate_bps):
    even = even_rate_bps(rate_bps)
    assert even in GRID
    assert even <= rate_bps or even == MIN_RATE_BPS
    assert not [one for one in GRID if even < one <= rate_bps]
    assert parse_rate_bps(rate_text(even)) == even


@pytest.mark.parametrize(("rate_bps", "text"), [(1_234_567, "1.234567Mbit"), (12_500, "12.5kbit")])
def test_a_rate_is_written_as_it_is_read(rate_bps, text):
    assert rate_text(rate_bps) == text
    assert parse_rate_bps(text) == rate_bps


def test_the_default_is_round_at_most_2_mbit_and_carried_by_rule():
    for hosts in (1, 2, 5):
        for load in (0.01, 0.2, 0.5, 1.0):
            for routing in ("min", "ugal-pf"):
                rate_bps = rate_of(f"run polarfly --q 5 --hosts {hosts} --load {load} --routing {routing}")
                carried = link_rate_bps(31 * hosts, load, 1000, detours=routing != "min")
                assert rate_bps in GRID
                assert rate_bps <= min(2_000_000, carried)
                assert rate_bps == 2_000_000 or even_rate_bps(carried) == rate_bps


def test_small_fabrics_and_low_loads_have_2_mbit():
    assert rate_of("run polarfly --q 2") == rate_of("run polarfly --q 5 --load 0.02") == 2_000_000


@pytest.mark.parametrize(
    ("more", "slower"),
    [
        ("", "--hosts 8"),
        ("", "--load 1"),
        ("", "--routing valiant"),
        ("", "--frame-bytes 100"),
        ("--pattern allreduce --ranks 8", "--pattern allreduce"),
    ],
)
def test_more_work_for_the_machine_has_a_lower_default(more, slower):
    fabric = "run polarfly --q 5 --hosts 3"
    assert rate_of(f"{fabric} {slower}") < rate_of(f"{fabric} {more}")


def test_long_paths_have_a_lower_default():
    hosts = 31  # of both
    assert rate_of(f"run torus --shape {hosts} --load 0.9") <= rate_of("run polarfly --q 5 --load 0.9") / 2


def test_other_processors_have_another_default(processors):
    words = "run polarfly --q 5 --hosts 2 --load 0.5"
    assert rate_of(words) == 500_000
    processors(16)
    assert rate_of(words) == 2_000_000


@pytest.mark.parametrize(
    ("words", "rate_bps"),
    [
        ("run polarfly --q 11 --hosts 4 --exec 's1 true'", 2_000_000),
        ("run polarfly --q 11 --hosts 4 --flow-sizes web-search --load 0.9", 2_000_000),
        ("up polarfly --q 11 --hosts 4", 2_000_000),
        ("demo failover polarfly --q 11", 20_000_000),
    ],
)
def test_traffic_that_is_not_generated_keeps_its_default(words, rate_bps):
    fabric = parse(shlex.split(words)).experiment.resolve().fabric
    assert (fabric.links.rate_bps, fabric.link_rate_from) == (rate_bps, "rule")


def test_background_traffic_beside_programs_counts():
    words = "run polarfly --q 5 --hosts 4 --load 0.9"
    programs = parse([*words.split(), "--exec", "s1 true"]).experiment.resolve().fabric
    assert programs.links.rate_bps == rate_of(words)


def test_a_sweep_has_one_rate_that_of_its_hardest_point():
    words = "polarfly --q 5 --hosts 2"
    sweep = experiment_of(f"sweep {words} --loads 0.2,0.9 --vary frame-bytes=300,1000").resolve()
    [rate_bps] = {point.fabric.links.rate_bps for point in sweep.points}
    alone = [
        rate_of(f"run {words} --load {load} --routing {routing} --frame-bytes {length}")
        for load in (0.2, 0.9)
        for routing in ("min", "ugal-pf")
        for length in (300, 1000)
    ]
    assert rate_bps == min(alone) < max(alone)
    assert rate_of(f"sweep {words} --vary load=0.2,0.9") == rate_of(f"sweep {words} --loads 0.2,0.9")


def test_the_simulator_has_no_link_rate():
    assert "link-rate" not in experiment_of("simulate polarfly --q 3").complete.values
    assert "link-rate" not in experiment_of("sweep polarfly --q 3 --engine simulation").complete.values


# ---- its origin, and its number in results ----


@pytest.mark.parametrize(
    ("words", "origin"),
    [
        ("run polarfly --q 5", "rule"),
        ("run polarfly --q 5 --link-rate 2Mbit", "given"),
        ("run polarfly --q 5 --link-rate auto", "auto"),
        ("sweep polarfly --q 5", "rule"),
        ("sweep polarfly --q 5 --vary link-rate=1Mbit,2Mbit", "given"),
        ("sweep polarfly --q 5 --link-rate auto", "auto"),
    ],
)
def test_results_name_the_origin_of_the_rate(words, origin):
    settings = fabric_of(words).settings()
    assert plain(settings)["link_rate_from"] == origin


def test_results_of_the_version_before_have_no_origin(tmp_path):
    content = plain(records.SUMMARY)
    assert "link_rate_from" not in content
    result_folders.write_run(tmp_path)
    assert polarlab.Run(tmp_path).summary.link_rate_from is None


def folder_of(folder, experiment):
    """A folder with the manifest of an experiment."""
    folder.mkdir(parents=True)
    manifest = plain(records.run_manifest(experiment=kept_content(experiment)))
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def test_what_is_measured_again_has_the_same_rate_on_another_machine(tmp_path, processors):
    folder = folder_of(tmp_path / "run", experiment_of("run polarfly --q 5 --hosts 2 --load 0.5"))
    processors(64)
    assert rate_of("run polarfly --q 5 --hosts 2 --load 0.5") == 2_000_000
    again = experiment_to_rerun(folder).resolve().fabric
    assert (again.links.rate_bps, again.link_rate_from) == (500_000, "given")


SWEEP = "sweep polarfly --q 3 --hosts 2"


def resumed(folder, words):
    experiment = at_held_rate(experiment_of(words), folder)
    fabric = experiment.resolve().fabric
    return fabric.links.rate_bps, fabric.link_rate_from, kept_content(experiment)["fabric"]["link-rate"]


def test_a_sweep_resumes_at_the_rate_that_it_has(tmp_path, processors):
    folder = result_folders.write_sweep(
        tmp_path / "held", ["min"], ["uniform"], link_rate_bps=200_000, link_rate_from="rule"
    )
    processors(64)
    assert rate_of(SWEEP) == 2_000_000
    assert resumed(folder, SWEEP) == (200_000, "rule", "200kbit")
    assert resumed(folder, f"{SWEEP} --loads 0.99") == (200_000, "rule", "200kbit")
    assert resumed(folder, f"{SWEEP} --link-rate 1Mbit") == (1_000_000, "given", "1Mbit")
    assert resumed(tmp_path / "none", SWEEP)[0] == 2_000_000
    varied = at_held_rate(experiment_of(f"{SWEEP} --vary link-rate=1Mbit"), folder).resolve()
    assert {point.fabric.links.rate_bps for point in varied.points} == {1_000_000}


def test_the_warmup_of_a_resumed_sweep_is_that_of_its_rate(tmp_path, processors):
    held = at_held_rate(
        experiment_of(SWEEP),
        result_folders.write_sweep(
            tmp_path, ["min"], ["uniform"], link_rate_bps=100_000, link_rate_from="rule"
        ),
    )
    wanted = experiment_of(f"{SWEEP} --link-rate 100kbit").resolve().points[0].traffic.warmup_s
    assert held.resolve().points[0].traffic.warmup_s == wanted
    assert experiment_of(SWEEP).resolve().points[0].traffic.warmup_s < wanted


def test_a_sweep_of_the_version_before_resumes_at_its_default_alone(tmp_path):
    words = "sweep polarfly --q 5 --hosts 8"
    for rate_bps, wanted in ((2_000_000, 2_000_000), (700_000, rate_of(words))):
        folder = result_folders.write_sweep(
            tmp_path / str(rate_bps), ["min"], ["uniform"], link_rate_bps=rate_bps
        )
        assert resumed(folder, words)[0] == wanted != 700_000


def test_where_the_rate_is_left_out_the_folder_of_a_sweep_does_not_depend_on_it(processors):
    def folder(words):
        experiment = experiment_of(words)
        return experiment.folder(experiment.resolve())

    words = "sweep polarfly --q 5 --hosts 3"
    before = folder(words)
    processors(64)
    assert folder(words) == folder(f"{words} --loads 0.01") == before
    assert folder(f"{words} --link-rate 1Mbit") != before


def test_origins_alone_do_not_keep_points_apart():
    first, second = (records.sweep_manifest(link_rate_from=origin).sweep for origin in ("rule", None))
    assert first.difference(second) is None


# ---- fabrics that are up ----


def test_traffic_on_a_fabric_that_is_up_has_the_rate_of_that_fabric():
    fabric = experiment_of("up polarfly --q 5 --hosts 8")
    traffic = traffic_request(fabric, {"load": 0.9})
    assert traffic.resolve().fabric.links.rate_bps == 2_000_000
    assert kept_content(traffic)["fabric"]["link-rate"] == "2Mbit"


@pytest.mark.parametrize("hosts", [1, 4, 40])
def test_the_demonstration_has_the_default_for_its_traffic(hosts):
    request, load = demonstration(experiment_of(f"demo web polarfly --q 5 --hosts {hosts}"), 0.3)
    fabric = request.resolve().fabric
    assert fabric.links.rate_bps == even_rate_bps(link_rate_bps(31 * hosts, 0.3, 1000, detours=True))
    assert (fabric.link_rate_from, load) == ("rule", 0.3)


def test_on_links_that_are_too_fast_the_demonstration_has_less_traffic():
    request, load = demonstration(experiment_of("demo web --link-rate 10Mbit"), 0.3)
    assert request.resolve().fabric.link_rate_from == "given"
    assert load == pytest.approx(link_rate_bps(31, 1, 1000, detours=True) / 10e6, abs=0.01)
    assert demonstration(experiment_of("demo web --link-rate 10Gbit"), 0.3)[1] == 0.01


# ---- remedies ----


def slow(rate_bps=2_000_000, held=0.9, **more):
    held = Held(held, 3.0, "s4")
    return judge(Evidence(4.0, held, 0.02, held, lag_ms_p99=0.1, link_rate_bps=rate_bps, **more))


@pytest.mark.parametrize(
    ("held", "rate_bps", "wanted"), [(0.9, 2_000_000, 1_000_000), (9.0, 10_000_000, 1_000_000)]
)
def test_a_slow_machine_is_to_try_half_the_rate_or_less(held, rate_bps, wanted):
    assert slow(rate_bps, held).try_link_rate_bps == wanted


@given(st.floats(0, 1e4), st.integers(MIN_RATE_BPS, 10**10))
def test_the_rate_to_try_is_lower_and_there_only_where_the_machine_was_slow(held, rate_bps):
    tried = slow(rate_bps, held).try_link_rate_bps
    assert (tried is not None) == (held > 0.5 and rate_bps > MIN_RATE_BPS)
    assert tried is None or (tried in GRID and tried < rate_bps)


def test_other_doubts_have_no_rate_to_try():
    doubted = slow(held=0.1, link_loss_doubt="too much was lost")
    assert not doubted.valid
    assert doubted.try_link_rate_bps is None
    assert records.summary(fidelity=doubted).remedy == ""


def test_a_line_that_says_not_valid_names_the_remedy():
    summary = records.summary(link_rate_bps=2_000_000, fidelity=slow())
    [reason] = [r for r in summary.fidelity.reasons if "many" not in r]
    line = str(Notice("result-invalid", reason=reason, remedy=summary.remedy))
    assert line.endswith("; try --link-rate 1Mbit or --link-rate auto")
    collective = records.summary(fidelity=slow(), arrivals=None, load=None)
    assert collective.remedy == "; try --link-rate 1Mbit"
    session = records.summary(fidelity=slow(), arrivals=None, load=None, pattern="session")
    assert session.remedy == "; try --link-rate 1Mbit or a lower load"


def test_of_several_seeds_the_lowest_rate_counts(tmp_path):
    runs = [records.summary(seed=seed, fidelity=slow(held=held)) for seed, held in ((1, 0.6), (2, 9.0))]
    assert combine(runs, 2).fidelity.try_link_rate_bps == runs[1].fidelity.try_link_rate_bps < 1_000_000


def test_the_text_of_a_run_in_python_names_the_remedy(tmp_path):
    run = polarlab.Run(result_folders.write_run(tmp_path, records.summary(fidelity=slow())))
    assert "--link-rate 1Mbit" in str(run)
    assert "--link-rate" not in str(polarlab.Run(result_folders.write_run(tmp_path / "valid")))


def test_the_points_of_a_sweep_have_the_remedy_of_the_slowest(tmp_path):
    folder = result_folders.write_sweep(tmp_path, ["min"], ["uniform"], invalid=[0.6, 1.0])
    assert Sweep(folder).remedy == ""
    for path, held in zip(sorted((folder / "points").glob("*.json")), (0.1, 0.9, 9.0), strict=True):
        content = json.loads(path.read_text())
        path.write_text(json.dumps({**content, "fidelity": plain(slow(held=held))}))
    lowest = rate_text(slow(held=9.0).try_link_rate_bps)
    assert Sweep(folder).remedy == f"; try --link-rate {lowest} or --link-rate auto"
    assert str(
        Notice("points-invalid", invalid=2, points=3, folder=folder, remedy=Sweep(folder).remedy)
    ).endswith("--link-rate auto")


@pytest.mark.parametrize("subject", ["run", "sweep"])
def test_reports_name_the_remedy(tmp_path, subject):
    if subject == "run":
        folder = result_folders.write_run(tmp_path, records.summary(fidelity=slow()))
    else:
        folder = result_folders.write_sweep(tmp_path, ["min"], ["uniform"], invalid=[1.0])
        path = next((folder / "points").glob("*1.json"))
        path.write_text(json.dumps({**json.loads(path.read_text()), "fidelity": plain(slow())}))
    page = polarlab.report(folder)
    assert "try --link-rate 1Mbit" in page.read_text()


def test_the_live_page_names_the_remedy_of_seconds_that_are_not_valid():
    held = HeldLately(Held(0.9, 0.0, "s4"), Held(0.9, 0.0, "s4"))
    judged = judged_now(held, 5.0, 2_000_000)
    assert not judged.valid
    assert judged.reason.endswith("; try --link-rate 1Mbit or a lower load")
    prompt = HeldLately(Held(0.1, 0.0, "s4"), Held(0.1, 0.0, "s4"))
    assert "--link-rate" not in judged_now(prompt, 5.0, 2_000_000).reason


@pytest.mark.parametrize(
    ("fabric", "routing"),
    [("", "ugal-pf"), ("PolarFly --q 3", "ugal-pf"), ("polarstar --q 3 --supernode iq --degree 3", "ugal")],
)
def test_the_demonstration_has_a_routing_that_its_family_supports(fabric, routing):
    asked = experiment_of(f"demo web {fabric}")
    assert asked.values["routing"] == routing
    make_plan(asked.topology, 1, routing)

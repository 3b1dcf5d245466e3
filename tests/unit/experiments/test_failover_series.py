"""Series of failovers: distributions, files, figures and options; on made-up failovers."""

from argparse import Namespace
from dataclasses import replace

import numpy as np
import pytest
from support.builders import records
from test_failover import SUMMARY

import polarlab
from experiments.comparison.compare import compare
from experiments.failover.series import (
    combine_failovers,
    distribution,
    failover_ended,
    median_limits,
    repetition_of,
)
from experiments.figures.comparison import comparison_figure
from experiments.figures.failovers import draw_failovers, steps_of
from experiments.report.failover import failovers_page
from experiments.results.failover import FAILOVER_COLUMNS, FAILOVERS
from experiments.results.open import Failovers, open_results
from experiments.results.run_directory import RunDirectory
from experiments.results.tables import PROBE_COLUMNS, PROBES, read_csv
from experiments.spec.fabric import FabricOptions
from experiments.spec.failover import FailoverOptions, FailoverSeriesOptions, with_time_for_repair
from polarlab.cli.commands.demo import print_series
from polarlab.cli.main import main
from polarlab.cli.parser import parse
from topology.errors import ParameterError
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import Component, ComponentKind, parse_components
from topology.links import LinkSpec

FABRIC = FabricOptions("polarfly", {"q": 3}, PolarFly(3), 1, "min", LinkSpec(20_000_000, 32))


def specified(words):
    """The failovers of `polarlab demo failover` on ER_3 with some options."""
    experiment = parse(["demo", "failover", "polarfly", "--q", "3", *words.split()]).experiment
    return experiment.resolve().failovers


def series(gaps=(9.0, 12.5, 30.0), **changes):
    """A series with these silences in ms, and one lost probe for each ms."""
    measured = [
        (
            seed,
            replace(
                SUMMARY,
                failed=(f"link:s1-s{seed}",),
                gap_ms=gap,
                packets_lost=round(gap),
                repaired_ms=gap,
                repaired_by="switches",
                **changes,
            ),
        )
        for seed, gap in enumerate(gaps, start=1)
    ]
    options = FailoverSeriesOptions("random-link", (FailoverOptions(),) * len(gaps))
    return combine_failovers(FABRIC, options, measured)


def test_each_repetition_draws_an_element_from_a_seed_of_its_own():
    options = specified("--repeat 5 --fail random-link --seed 11")
    assert [repetition.seed for repetition in options.repetitions] == [11, 12, 13, 14, 15]
    for repetition in options.repetitions:
        assert repetition.elements == parse_components("random-link", PolarFly(3), repetition.seed)
    assert len({repetition.elements for repetition in options.repetitions}) > 1
    assert options.settings().fail == "random-link"
    assert (options.settings().repeat, options.settings().seed, options.settings().elements) == (5, 11, None)


def test_a_named_element_is_repeated():
    options = specified("--repeat 3 --fail switch:s4,hang:s2")
    assert {repetition.elements for repetition in options.repetitions} == {
        parse_components("switch:s4,hang:s2", PolarFly(3), 1)
    }


def test_one_failover_has_the_times_that_it_always_had():
    (one,) = specified("--fail random-switch").repetitions
    assert (one.fail_s, one.restore_s, one.end_s) == (2.0, 5.0, 9.0)
    (killed,) = specified("--fail hang:s1 --kill-controller").repetitions
    assert (killed.restore_s, killed.end_s) == (12.0, 16.0)


def test_links_of_a_series_take_less_time_than_switches():
    link, switch = (
        specified(f"--repeat 2 --fail random-{kind}").repetitions[0] for kind in ("link", "switch")
    )
    assert link.end_s < switch.end_s
    alone = FailoverOptions(kill_controller=True)
    assert with_time_for_repair(alone, repeated=True) == alone


@pytest.mark.parametrize("words", ["--repeat 0", "--repeat 1001", "--repeat 2 --seed 9223372036854775807"])
def test_numbers_of_failovers_that_cannot_be_are_refused(words):
    with pytest.raises(ParameterError, match="must be"):
        specified(words)


def test_the_distribution_of_known_values():
    values = distribution([4.0, 1.0, None, 3.0, 2.0])
    assert (values.mean, values.p50, values.max, values.missing) == (2.5, 2.5, 4.0, 1)
    assert values.values == (4.0, 1.0, 3.0, 2.0)
    assert (values.p90, values.p99) == (3.7, 3.97)
    assert values.ci95 == pytest.approx(2.054, abs=1e-3)  # 3.182 x 1.291 / 2, a table of Student's t
    assert values.p50_ci95 is None
    assert distribution([None, None]) is None
    assert distribution([7]).ci95 is None


def test_limits_of_the_median_are_those_of_the_tables():
    """Order statistics of a table of the sign test: 1 and 6 of 6, 6 and 15 of 20, 40 and 61 of 100."""
    assert median_limits(range(1, 7)) == (1, 6)
    assert median_limits(range(20, 0, -1)) == (6, 15)
    assert median_limits(range(1, 101)) == (40, 61)
    assert median_limits(range(5)) is None


def test_limits_hold_the_median_as_often_as_they_say():
    generator = np.random.default_rng(1)
    inside = [
        low <= np.log(2) <= high
        for low, high in (median_limits(generator.exponential(size=20).tolist()) for _ in range(2000))
    ]
    assert 0.95 <= np.mean(inside) <= 0.975  # 0.9586 in theory


def test_a_series_is_the_sum_of_its_failovers():
    result = series()
    assert result.seeds == (1, 2, 3)
    assert result.gap_ms.values == (9.0, 12.5, 30.0)
    assert result.packets_sent == 3 * SUMMARY.packets_sent
    assert result.repaired_by == {"switches": 3}
    assert result.negative is None
    assert result.controller_converged_ms is None


def test_all_bad_failovers_are_named_by_their_seeds_and_the_first_with_its_reason(capsys):
    result = series(negative="6 pairs were silent")
    assert result.negative == "3 of 3 failovers (seeds 1, 2, 3): seed 1, link:s1-s1: 6 pairs were silent"
    one = series((9.0,), negative="6 pairs were silent")
    assert one.negative == "1 of 1 failovers: seed 1, link:s1-s1: 6 pairs were silent"
    print_series(Namespace(json=False), result)
    assert capsys.readouterr().out.count("negative") >= 4  # the result, and each row


def test_a_failover_that_is_interrupted_before_its_failure_names_the_element_that_was_drawn():
    options = FailoverOptions((Component(ComponentKind.SWITCH, (2,)),))
    early = replace(SUMMARY, failed=(), interrupted=True)
    assert str(failover_ended(options, early)) == "interrupted before the failure of switch:s3"
    assert str(failover_ended(options, replace(SUMMARY, failed=("switch:s3",)))).startswith(
        "Switch s3 failed: "
    )


def interrupted_at_once():
    options = FailoverSeriesOptions("random-link", (FailoverOptions(),) * 5)
    return combine_failovers(FABRIC, options, [(1, replace(SUMMARY, interrupted=True, packets_lost=900))])


def test_an_interrupted_failover_is_never_a_sample(tmp_path, capsys):
    result = interrupted_at_once()
    assert (result.seeds, result.asked, result.interrupted) == ((), 5, True)
    assert (result.gap_ms, result.packets_lost, result.packets_sent) == (None, None, 0)
    folder = written(tmp_path / "series", result)
    assert open_results(folder).summary == result
    assert read_csv(folder / FAILOVERS, FAILOVER_COLUMNS)["interrupted"] == ["true"]
    page = polarlab.report(folder).read_text()
    assert "The series was interrupted. 0 of 5 failovers are complete" in page
    assert main(["plot", str(folder)]) == 2
    assert "interrupted before" in capsys.readouterr().err


def test_interrupted_and_negative_series_are_hatched_beside_others(tmp_path, monkeypatch):
    folders = [written(tmp_path / "none", interrupted_at_once()), written(tmp_path / "all", series())]
    folders.append(written(tmp_path / "bad", series(negative="6 pairs were silent")))
    comparison = compare(*folders)
    assert comparison.results["interrupted"] == [True, False, False]
    figure = comparison_figure(comparison)
    assert [bool(bar.get_hatch()) for bar in figure.axes[0].patches] == [True, False, True]
    assert "negative or interrupted" in figure.legends[0].get_texts()[0].get_text()


def test_an_interrupted_failover_does_not_count_beside_others():
    measured = [(1, SUMMARY), (2, replace(SUMMARY, interrupted=True, packets_lost=900))]
    options = FailoverSeriesOptions(None, (FailoverOptions(),) * 5)
    result = combine_failovers(FABRIC, options, measured)
    assert (result.seeds, result.asked, result.interrupted) == ((1,), 5, True)
    assert result.packets_lost.values == (SUMMARY.packets_lost,)
    assert [row.interrupted for row in result.failovers] == [False, True]
    assert "interrupted, 1 of 5 failovers" in draw_failovers(result).get_suptitle().replace("\n", " ")


def written(folder, result):
    """Writes a series as it is left on the disk, without the folders of its failovers."""
    directory = RunDirectory(folder)
    for row in result.failovers:
        directory.append_row(FAILOVERS, FAILOVER_COLUMNS, row.cells())
    directory.write_record("manifest.json", records.run_manifest())
    directory.write_record("summary.json", result)
    return folder


def test_a_series_is_read_back_as_it_was_written(tmp_path):
    folder = written(tmp_path / "series", series(restored=True))
    results = open_results(folder)
    assert isinstance(results, Failovers)
    assert results.summary == series(restored=True)
    assert [failover.folder.name for failover in results.replications] == ["seed-1", "seed-2", "seed-3"]
    table = read_csv(folder / FAILOVERS, FAILOVER_COLUMNS)
    assert table["failed"] == ["link:s1-s1", "link:s1-s2", "link:s1-s3"]
    assert table["restored"] == ["true"] * 3
    assert table["controller_converged_ms"] == [""] * 3


def test_a_row_has_what_the_failover_has():
    row = repetition_of(4, SUMMARY)
    shared = set(vars(row)) & set(vars(SUMMARY)) - {"failed"}
    assert len(shared) == 13
    assert all(getattr(row, name) == getattr(SUMMARY, name) for name in shared)
    assert (row.seed, row.failed, row.silence_before_ms) == (4, "controller", 1.0)


def test_a_series_is_drawn_by_its_folder(tmp_path):
    paths = polarlab.plot(written(tmp_path / "series", series())).save()
    assert [path.name for path in paths] == ["failovers.png", "failovers.svg"]


def test_the_curve_rises_at_each_value_from_nothing_to_one():
    assert steps_of([3.0, 1.0, 1.0, 2.0]) == ([1.0, 1.0, 2.0, 3.0], [0.0, 0.5, 0.75, 1.0])
    silence, losses = draw_failovers(series()).axes
    curves = {line.get_label().split(":")[0]: line for line in silence.lines + losses.lines}
    assert curves["during the failure"].get_xdata().tolist() == [9.0, 9.0, 12.5, 30.0]
    assert curves["total"].get_ydata().tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1])


def test_the_printed_tables_have_each_failover_and_each_distribution(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    arguments = parse(["demo", "failover", "--repeat", "3"])
    print_series(arguments, series())
    out = capsys.readouterr().out
    assert "link:s1-s3" in out
    assert any(line.startswith("gap_ms") and "12.5" in line for line in out.splitlines())


def test_the_report_of_a_series_has_distributions_and_failovers(tmp_path):
    page = polarlab.report(written(tmp_path / "series", series(restored=True))).read_text()
    assert "with the seeds 1, 2, 3" in page
    assert "link:s1-s3" in page
    assert page.count("data:image/svg+xml;base64,") == 1
    assert page.index("gap_ms") < page.index("link:s1-s1") < page.index("Settings")


def test_series_are_compared_with_means_intervals_and_quantiles(tmp_path, capsys):
    with_repair = written(tmp_path / "with", series())
    without = written(tmp_path / "without", series((100.0, 110.0, 120.0)))
    comparison = compare(with_repair, without)
    assert comparison.results["gap_ms"] == [pytest.approx(17.167, abs=1e-3), 110.0]
    assert comparison.results["gap_ms.max"] == [30.0, 120.0]
    assert comparison.intervals["gap_ms"][1] == pytest.approx(24.841, abs=1e-3)  # 4.303 x 10 / sqrt 3
    figure = tmp_path / "both.png"
    assert main(["compare", str(with_repair), str(without), "--figure", str(figure)]) == 0
    assert figure.exists()
    assert any("gap_ms.p90" in line for line in capsys.readouterr().out.splitlines())


def test_the_table_of_failovers_has_columns_that_fit_a_page(tmp_path):
    tables = [
        section.table for section in failovers_page(open_results(written(tmp_path / "a", series()))).sections
    ]
    assert tables[1].columns == (
        *("seed", "failed", "gap_ms", "packets_lost", "lost_at_restore", "silence_before_ms", "repaired_by"),
        *("repaired_ms", "restored"),
    )
    page = failovers_page(open_results(written(tmp_path / "b", series(negative="6 pairs were silent"))))
    assert page.sections[1].table.columns[-1] == "negative"


def test_a_series_without_its_table_says_what_is_missing(tmp_path):
    folder = written(tmp_path / "series", series())
    RunDirectory(folder / "seed-1").write_csv(PROBES, PROBE_COLUMNS, [])
    (folder / FAILOVERS).unlink()
    with pytest.raises(ParameterError, match=r"failovers\.csv"):
        open_results(folder)

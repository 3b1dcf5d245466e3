"""A kind of results is added in one place: a class of the test's own, which all commands then know."""

import csv
import json
import tempfile
from dataclasses import replace

import pytest
from matplotlib.figure import Figure

import polarlab
from experiments.comparison.settings import side_by_side
from experiments.report.model import Page, Section
from experiments.results.kinds import Kind, Results
from experiments.results.manifest import Origin
from experiments.results.open import KINDS
from polarlab.cli import main as entry
from topology.errors import Status

CABLES = "cables.csv"


class Weighing(Results):
    """Weights of cables."""

    kind = Kind(
        "weighing",
        "weighings",
        draw=f"{__name__}:draw",
        page=f"{__name__}:page",
        compare=f"{__name__}:compare",
        draw_compared=f"{__name__}:draw_compared",
    )
    manifest = Origin(versions={})

    @classmethod
    def held_by(cls, folder):
        return (folder / CABLES).exists()

    @property
    def weights_kg(self):
        return [float(text) for text in self.table(CABLES, ("weight_kg",))["weight_kg"]]

    def _rows(self):
        return [{"weight_kg": weight} for weight in self.weights_kg]

    def _short(self):
        return {"cables": len(self.weights_kg)}


def draw(results):
    figure = Figure()
    figure.subplots().plot(results.weights_kg)
    return {"weights": figure}


def draw_wrongly(results):
    return {"weights": results.weights_in_pounds}


def page(results):
    return Page("Weights", (Section(values={"heaviest cable": max(results.weights_kg)}),))


def compare(results):
    return side_by_side(results, results={"total_kg": [sum(one.weights_kg) for one in results]})


def draw_compared(comparison):
    figure = Figure()
    figure.subplots().bar(comparison.runs, comparison.results["total_kg"])
    return figure


@pytest.fixture
def folders(tmp_path):
    for name, weights in {"short": (1.5, 2.5), "long": (8,)}.items():
        (tmp_path / name).mkdir()
        with (tmp_path / name / CABLES).open("w", newline="") as file:
            csv.writer(file).writerows([("weight_kg",), *((weight,) for weight in weights)])
    KINDS.append(Weighing)
    yield [tmp_path / "short", tmp_path / "long"]
    KINDS.remove(Weighing)


def printed(capsys, *words):
    assert entry.main([str(word) for word in (*words, "--json")]) == Status.DONE
    return json.loads(capsys.readouterr().out)


def test_a_kind_that_is_one_class_is_opened_drawn_reported_and_compared(folders, capsys):
    opened = polarlab.open_results(folders[0])
    assert repr(opened) == f"<Weighing {folders[0]}: cables=2>"
    assert opened.tables == ("cables",)
    drawn = printed(capsys, "plot", folders[0], "--format", "svg")
    assert drawn == {"figures": [str(folders[0] / "weights.svg")]}
    assert printed(capsys, "report", folders[1]) == {"report": str(folders[1] / "report.html")}
    assert "heaviest cable" in (folders[1] / "report.html").read_text()
    figure = folders[0] / "both.png"
    compared = printed(capsys, "compare", *folders, "--figure", figure)
    assert (compared["kind"], compared["runs"]) == ("weighings", ["short", "long"])
    assert compared["results"] == {"total_kg": [4.0, 8.0]}
    assert figure.exists()


def test_results_of_two_kinds_are_not_compared_whatever_the_kinds(folders):
    (folders[1] / CABLES).rename(folders[1] / "summary.json")
    with pytest.raises(polarlab.ParameterError, match=r"a weighing .* and a run "):
        polarlab.compare(*folders)


def test_an_error_of_the_code_that_draws_is_not_damage(folders, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # for the log
    monkeypatch.setattr(Weighing, "kind", replace(Weighing.kind, draw=f"{__name__}:draw_wrongly"))
    assert entry.main(["plot", str(folders[0])]) == Status.INTERNAL
    assert "damaged" not in capsys.readouterr().err


def test_a_value_that_cannot_be_read_is_damage(folders, capsys):
    (folders[0] / CABLES).write_text("weight_kg\nheavy\n")
    assert entry.main(["plot", str(folders[0])]) == Status.USAGE
    assert f"{folders[0]} is damaged" in capsys.readouterr().err

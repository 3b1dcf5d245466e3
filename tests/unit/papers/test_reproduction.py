"""Reproduced items: files, items that go on, exit statuses, wrong use."""

import csv
import json
from itertools import count

import pytest

import polarlab
from experiments.papers import reproduction
from experiments.papers.claims import Claim
from experiments.papers.findings import Finding
from experiments.papers.model import Item, ItemResult, Plot, Scale, Value
from experiments.papers.performance.model import ComputeSettings
from experiments.papers.prices import paper_prices
from experiments.papers.registry import ITEMS, is_by_chance
from experiments.papers.reproduction import checked, reproduce_item
from experiments.results.run_directory import kept_directory
from polarlab.cli import main as entry
from topology.analysis import bisection
from topology.costs.prices import PRICES as PRICES_OF_A_FILE
from topology.errors import ParameterError

CLAIM = Claim("polarfly", "fig1", "ratio", "ratio", "Fig 1", 1.5, "equal", 0.1, "structure")
LATER = Claim("polarfly", "fig1", "later", "load", "Fig 1", 0.5, "equal", 0.1, "performance")


@pytest.fixture
def computed(monkeypatch):
    """Puts an item in place of Fig 1 and returns the list of the efforts with which it was computed."""
    efforts = []

    def compute(effort):
        efforts.append(effort)
        return ItemResult({"ratio": Value(1.55, (1.5, 1.6))}, [{"x": 1, "y": 2, "name": "a"}])

    item = Item("Ratios", compute, Plot("x", "y", "x", "y", by="name"))
    monkeypatch.setattr(reproduction, "item_of", lambda *_names: item)
    monkeypatch.setattr(reproduction, "claims_of_item", lambda *_names: (CLAIM, LATER))
    return efforts


FULL = Scale()


def reproduced(folder, effort=FULL):
    with kept_directory(folder, resume=True) as directory:
        return reproduce_item(
            "polarfly", "fig1", effort, ComputeSettings(directory), count(10.0, 2.5).__next__
        )


def test_an_item_is_computed_once_and_its_files_are_complete(tmp_path, computed):
    first = reproduced(tmp_path / "out")
    again = reproduced(tmp_path / "out")
    assert computed == [Scale()]
    assert (first.resumed, again.resumed) == (False, True)
    assert first.claims == again.claims
    assert first.seconds == again.seconds == 2.5
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"fig1.csv", "fig1.json", "fig1.png", "fig1.svg", "fig1-claims.csv"}
    [row] = csv.DictReader((tmp_path / "out" / "fig1.csv").read_text().splitlines())
    assert row == {"x": "1", "y": "2", "name": "a"}
    [ratio, later] = csv.DictReader((tmp_path / "out" / "fig1-claims.csv").read_text().splitlines())
    assert (ratio["paper"], ratio["value"], ratio["within"]) == ("1.5", "1.55", "True")
    assert "interval" not in ratio
    assert later["value"] == later["interval_low"] == later["interval_high"] == ""


def test_a_folder_of_items_says_what_reports_them(tmp_path, computed):
    reproduced(tmp_path)
    (tmp_path / "points.csv").write_text("q,routing,seed\n")  # of items that are simulated
    for look in (polarlab.report, polarlab.open_results):
        with pytest.raises(ParameterError, match="polarlab paper"):
            look(tmp_path)


def test_an_item_of_other_code_is_computed_again(tmp_path, computed, monkeypatch):
    reproduced(tmp_path)
    monkeypatch.setattr(reproduction, "papers_version", lambda: "other")
    assert not reproduced(tmp_path).resumed
    assert len(computed) == 2


@pytest.mark.usefixtures("computed")
def test_an_item_of_other_options_is_kept(tmp_path):
    reproduced(tmp_path)
    with pytest.raises(polarlab.ParameterError, match="other options"):
        reproduced(tmp_path, Scale(quick=True))


@pytest.mark.usefixtures("computed")
def test_a_table_of_somebody_else_is_not_overwritten(tmp_path):
    (tmp_path / "fig1.csv").write_text("my,own,table\n1,2,3\n")
    with pytest.raises(polarlab.ParameterError, match=r"fig1.csv is a different"):
        reproduced(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["fig1.csv"]
    (tmp_path / "fig1.csv").write_text("x,y,name\n")  # of one that was interrupted
    assert not reproduced(tmp_path).resumed


@pytest.mark.usefixtures("computed")
def test_an_item_without_its_record_is_computed_again(tmp_path, computed):
    reproduced(tmp_path)
    (tmp_path / "fig1.json").unlink()
    assert not reproduced(tmp_path).resumed
    assert len(computed) == 2


@pytest.mark.parametrize("change", ["removed", "emptied", "cut"])
@pytest.mark.parametrize("kind", [".csv", ".png", ".svg"])
def test_a_file_that_is_gone_is_made_again(tmp_path, computed, kind, change):
    reproduced(tmp_path)
    file = tmp_path / f"fig1{kind}"
    written = file.read_bytes()
    file.unlink() if change == "removed" else file.write_bytes(written[: 300 if change == "cut" else 0])
    if file.exists() and file.read_bytes() == written:  # a table of two lines
        file.write_bytes(written[:-3])
    assert not reproduced(tmp_path).resumed
    assert file.stat().st_size
    assert len(computed) == 2
    assert reproduced(tmp_path).resumed


def test_data_that_were_changed_are_made_again(tmp_path, computed):
    reproduced(tmp_path)
    written = (tmp_path / "fig1.csv").read_bytes()
    (tmp_path / "fig1.csv").write_bytes(b"x,y,name\nsoon,2,a\n")
    assert not reproduced(tmp_path).resumed
    assert (tmp_path / "fig1.csv").read_bytes() == written
    assert len(computed) == 2
    assert reproduced(tmp_path).resumed


def test_values_that_were_changed_are_made_again(tmp_path, computed):
    reproduced(tmp_path)
    record = tmp_path / "fig1.json"
    record.write_text(record.read_text().replace("1.55", "1.5"))
    assert reproduced(tmp_path).claims[0].value == 1.55
    assert len(computed) == 2


def test_a_damaged_record_is_reported(tmp_path, computed):
    (tmp_path / "fig1.json").write_text("{")
    with pytest.raises(polarlab.ParameterError, match=r"damaged.*; .* fig1 "):
        reproduced(tmp_path)
    assert not computed


def test_a_search_without_metis_is_told_and_made_again_with_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bisection, "metis_found", lambda: False)
    for _ in range(2):
        assert run("polarstar", "fig12", "--quick", "--seeds", "1", "--out", tmp_path) in (0, 1)
        shown = " ".join(capsys.readouterr().out.split())
        assert "only Kernighan-Lin passes search for halves; to add it: pip install" in shown
    assert "already complete" in shown
    monkeypatch.undo()
    assert run("polarstar", "fig12", "--quick", "--seeds", "1", "--out", tmp_path) in (0, 1)
    assert bisection.metis_found() != ("already complete" in capsys.readouterr().out)


@pytest.mark.parametrize(
    ("value", "note", "within", "unexplained"),
    [(1.6, "", True, False), (1.7, "", False, True), (1.7, "slip", False, False), (1.5, "slip", True, False)],
)
def test_a_number_outside_needs_a_note(monkeypatch, value, note, within, unexplained):
    found = Finding("polarfly", "fig1", "ratio", value, "slip", note, "") if note else None
    monkeypatch.setattr(reproduction, "finding_on", lambda *_claim: found)
    one = checked(CLAIM, Value(value))
    assert (one.within, one.unexplained) == (within, unexplained)
    assert one.note == ("" if within else note)


class WithoutSeeds(Scale):
    """A quick effort that nothing may ask for its seeds."""

    def number(self, full, quick):
        raise AssertionError("asked for the number of runs")

    def __getattribute__(self, name):
        assert name != "seeds"
        return super().__getattribute__(name)


@pytest.mark.parametrize("name", ["table2", "table4", "table5", "table6", "fig1", "triangles"])
def test_an_item_without_chance_has_no_seeds(name):
    item = ITEMS["polarfly"][name]
    assert not is_by_chance(item)
    assert item.compute(WithoutSeeds(quick=True)).rows


@pytest.mark.parametrize("place", ["polarfly fig14", "polarstar fig13", "slimfly fig5c", "slimfly table3"])
def test_an_item_of_chance_asks_for_its_seeds(place):
    paper, name = place.split()
    item = ITEMS[paper][name]
    assert is_by_chance(item)
    with pytest.raises(AssertionError):
        item.compute(WithoutSeeds(quick=True))


def test_what_is_not_computed_yet_says_so():
    assert checked(CLAIM, None).note == "not computed"
    assert not checked(LATER, None).unexplained


def run(*words):
    return entry.main(["paper", *map(str, words)])


def test_json_has_the_claims(tmp_path, capsys):
    assert run("polarfly", "table5", "--json", "--out", tmp_path) == 0
    result = json.loads(capsys.readouterr().out)
    assert list(result) == ["paper", "out", "report", "skipped", "items", "claims"]
    keys = ["item", "claim", "section", "paper", "value", "interval", "bound", "tolerance", "within", "note"]
    assert all(list(claim) == keys for claim in result["claims"])
    assert (result["claims"][0]["paper"], result["claims"][0]["value"]) == (993, 993)
    assert [item["item"] for item in result["items"]] == ["table5"]


def test_the_table_tells_the_sum_and_that_nothing_was_computed_again(tmp_path, capsys):
    for expected in (" s 13 of", "not computed again"):
        assert run("polarfly", "table6", "--out", tmp_path) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert expected in text
        assert "13 of 18 computed claims within their tolerances" in text
        assert ", 5 outside with a note, 0 without a note" in text


def test_a_number_outside_without_a_note_is_a_negative_result(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduction, "finding_on", lambda *_claim: None)
    assert run("polarfly", "table6", "--out", tmp_path) == 1


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ["polarfli", "fig1"],
            "paper must be one of polarfly, polarstar, slimfly, dragonfly, beyond, got 'polarfli'",
        ),
        (["polarfli"], "paper must be one of polarfly"),
        (["polarfly"], "paper polarfly needs an item, one of fig1, fig2"),
        (["polarfly", "fig99"], "item of polarfly must be one of fig1, fig2"),
        (["slimfly", "fig12"], "fig12 is not computed: fig11 at other prices of routers and cables"),
        (["dragonfly", "table4"], "table4 is not computed: not implemented yet"),
        (["polarfly", "fig13"], "fig13 is not computed: a drawing; see polarlab topology polarfly"),
        (
            ["beyond", "real", "--scheduler", "tcp://127.0.0.1:1"],
            "--scheduler needs a simulated figure or table, got beyond real",
        ),
        (["polarfly", "fig1", "--seeds", "0"], "seeds must be 1 to 10000, got 0"),
        (["polarfly", "fig1", "--seeds", "few"], "seeds must be 1 to 10000, got 'few'"),
        (["polarfly", "fig1", "--out", ""], "out must be the name of a file, got ''"),
        (
            ["polarfly", "fig1", "--seeds", "3"],
            "--seeds needs a figure or table that depends on chance, got polarfly fig1",
        ),
        (
            ["polarfly", "fig12", "--scheduler", "tcp://127.0.0.1:9"],
            "--scheduler needs a simulated figure or table, got polarfly fig12",
        ),
        (["list", "fig1"], "paper list shows all items; leave 'fig1' out"),
        (["list", "--quick"], "paper list does not accept --quick"),
    ],
)
def test_wrong_use(words, text, capsys):
    assert run(*words) == 2
    assert text in capsys.readouterr().err


def test_the_list_has_every_item_once(capsys):
    assert run("list", "--json") == 0
    items = json.loads(capsys.readouterr().out)["items"]
    assert items == [vars(one) for one in polarlab.papers()]
    assert len({(one["paper"], one["item"]) for one in items}) == len(items)
    assert all(one["computed"] for one in items if one["paper"] == "polarfly" and one["claims"])
    left_out = {(one["paper"], one["item"]): one["title"] for one in items if not one["computed"]}
    assert left_out["dragonfly", "table4"].startswith("not implemented yet")
    assert "fig11 at other prices of routers" in left_out["slimfly", "fig13"]
    assert run("list") == 0
    assert " no\n" in capsys.readouterr().out


# One curve of those of two items that are simulated.
FEW = ("--workers", "1", "--curves", "2 VCs:uniform")


@pytest.mark.parametrize("curves", [FEW, pytest.param((), marks=pytest.mark.slow)], ids=["few", "all"])
def test_all_items_come_with_a_page(tmp_path, capsys, curves):
    assert run("dragonfly", "all", "--quick", *curves, "--out", tmp_path, "--json") == 0
    result = json.loads(capsys.readouterr().out)
    page = (tmp_path / "report.html").read_text()
    assert result["report"] == str(tmp_path / "report.html")
    assert "The dragonfly paper, reproduced" in page
    assert "table2: " in page
    assert "core seconds of simulation" in page
    assert page.count("<h2>") >= len(result["items"])
    assert all(claim["claim"] in page for claim in result["claims"])
    assert run("dragonfly", "all", "--quick", *curves, "--out", tmp_path) == 0
    text = " ".join(capsys.readouterr().out.split())  # a long path comes on a line of its own
    assert f"page with all items: {tmp_path / 'report.html'}" in text
    assert "not computed by PolarLab: table4 (not implemented yet; fig12 has the sizes)" in text
    assert run("dragonfly", "table2", "--quick", "--out", tmp_path, "--json") == 0
    assert json.loads(capsys.readouterr().out)["report"] is None


PRICES = "\n".join(
    f"{key} = 1"
    for key in (
        *("rate", "electric-per-m", "electric-fixed", "optic-per-m", "optic-fixed", "router-per-port"),
        *("router-fixed", "lanes", "lane-power", "inside", "overhead", "rack"),
    )
)


@pytest.mark.usefixtures("computed")
def test_an_item_of_other_prices_is_kept(tmp_path):
    reproduced(tmp_path)
    with pytest.raises(polarlab.ParameterError, match="other options"):
        reproduced(tmp_path, Scale(prices=paper_prices()))


def test_costs_follow_from_the_prices_of_a_file(tmp_path, capsys):
    file = tmp_path / "prices.toml"
    file.write_text(PRICES)
    assert run("slimfly", "table4", "--prices", file, "--out", tmp_path / "own", "--json") == 0
    claims = json.loads(capsys.readouterr().out)["claims"]
    values = {claim["claim"]: claim["value"] for claim in claims}
    assert values["power of Slim Fly q = 19 with p = 15 per endpoint in W"] == 722 * 44 / 10_830
    assert {(claim["within"], claim["note"]) for claim in claims if claim["value"] is not None} == {
        (None, "other prices than the paper's")
    }
    record = json.loads((tmp_path / "own" / "table4.json").read_text())
    assert record["prices"]
    found = polarlab.reproduce("slimfly", "table4", prices=file, out=tmp_path / "own")
    assert [item.resumed for item in found.items] == [True]


@pytest.mark.parametrize("item", ["table4", "cost-readings", "fig11"])
def test_prices_may_be_nothing(item, tmp_path, capsys):
    file = tmp_path / "prices.toml"
    file.write_text(PRICES.replace("= 1", "= 0"))
    assert run("slimfly", item, "--prices", file, "--out", tmp_path / "own") == 0
    rows = [*csv.DictReader((tmp_path / "own" / f"{item}.csv").read_text().splitlines())]
    assert rows
    assert all(float(row.get("cost_per_endpoint", 0)) == 0 for row in rows)
    shown = capsys.readouterr().out
    assert item != "table4" or "0 of 0 computed claims" in shown
    assert item != "table4" or "7 not computed, 8 with other prices than the paper's" in shown


def test_the_paper_s_prices_in_a_file_are_compared(tmp_path, capsys):
    file = tmp_path / "prices.toml"
    prices = {one.name: getattr(paper_prices(), one.key) for one in PRICES_OF_A_FILE if one.name != "source"}
    file.write_text("\n".join(f"{key} = {value!r}" for key, value in prices.items()))
    assert run("slimfly", "table4", "--prices", file, "--out", tmp_path / "own", "--json") == 0
    own = json.loads(capsys.readouterr().out)["claims"]
    assert run("slimfly", "table4", "--out", tmp_path / "paper", "--json") == 0
    assert json.loads(capsys.readouterr().out)["claims"] == own
    assert {claim["within"] for claim in own if claim["value"] is not None} == {True, False}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["slimfly", "fig5a"], "--prices only applies to slimfly table4, slimfly cost-readings"),
        (["polarfly", "all"], "--prices only applies to slimfly table4, slimfly cost-readings"),
        (["slimfly", "table4"], "prices.toml cannot be read"),
    ],
)
def test_wrong_use_of_prices(words, text, tmp_path, capsys):
    assert run(*words, "--prices", tmp_path / "prices.toml") == 2
    assert text in capsys.readouterr().err


def test_an_item_without_claims_of_its_own_has_its_files(tmp_path, capsys):
    assert run("slimfly", "fig11", "--quick", "--out", tmp_path) == 0
    shown = capsys.readouterr().out
    assert "fig11.*" in shown
    assert "computed claims" not in shown
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"fig11.csv", "fig11.json", "fig11.png", "fig11.svg", "fig11-claims.csv"}
    assert list(csv.DictReader((tmp_path / "fig11-claims.csv").read_text().splitlines())) == []


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"paper": 3}, "paper must be one of polarfly, .*, got 3"),
        ({"item": ["fig8"]}, r"item of polarfly must be one of .*, got \['fig8'\]"),
        ({"curves": "PF-MIN"}, "curves must be a list of labels, got 'PF-MIN'"),
        ({"curves": [3]}, "curves must be none or among PF-MIN, .*, got '3'"),
        ({"curves": 3}, "curves must be a list of labels, got 3"),
        ({"prices": {}, "paper": "slimfly", "item": "table4"}, "prices must be a file, got {}"),
        ({"out": ""}, "out must be a folder, got ''"),
        ({"out": 3}, "out must be a folder, got 3"),
        ({"progress": 5}, "progress must be a function that takes an event, got 5"),
    ],
)
def test_arguments_of_other_types_are_refused(given, text, tmp_path):
    with pytest.raises(polarlab.UsageError, match=text):
        polarlab.reproduce(**{"paper": "polarfly", "item": "fig8", "out": tmp_path, **given})
    assert list(tmp_path.iterdir()) == []


def test_all_items_are_told_one_after_the_other(tmp_path):
    told = []
    chosen = {"quick": True, "curves": ["none"], "out": tmp_path}
    polarlab.reproduce("dragonfly", "all", **chosen, progress=told.append)
    begun = [str(event) for event in told if event.key == "item-begun"]
    assert begun[0] == "1 of 5, dragonfly table1: Groups of balanced dragonflies by trunking"
    assert len(begun) == 5

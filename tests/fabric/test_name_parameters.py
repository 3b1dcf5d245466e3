"""Names with parameters on real fabrics: a law's threshold on a standing one, and hot spots."""

import csv
import json

import pytest
from conftest import polarlab, summary_of_run

pytestmark = pytest.mark.usefixtures("no_leftovers")

FABRIC = (
    "polarfly",
    "--q",
    "3",
    "--hosts",
    "2",
    "--link-rate",
    "500kbit",
    "--warmup",
    "1",
    "--duration",
    "2",
)
EAGER, RELUCTANT = "ugal-pf:threshold=0.05", "ugal-pf:threshold=0.95"


@pytest.mark.slow  # as the unit test of thresholds, and test_sweep
@pytest.mark.tried_again
def test_a_threshold_is_changed_on_a_standing_fabric_and_decides_when_detours_begin(tmp_path):
    """Tornado at 0.2 loads one link by 0.8: its queue is often not empty, and never full."""
    out = tmp_path / "sweep"
    # The longer form of a default, another order and another number of digits: the same two routings.
    routings = "ugal-pf:buckets=64,threshold=0.050,ugal-pf:0.95,ugal-pf:threshold=0.95"
    words = ("--routings", routings, "--patterns", "tornado", "--loads", "0.2", "--json", "--out", str(out))
    done = polarlab("sweep", *FABRIC, *words)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("starting 13 Open vSwitches") == 1
    with (out / "points.csv").open(newline="") as file:
        assert [row["routing"] for row in csv.DictReader(file)] == [EAGER, RELUCTANT]
    points = {
        name: out / "points" / f"ugal-pf-threshold={name}-tornado-0.2.json" for name in ("0.05", "0.95")
    }
    eager, reluctant = (json.loads(points[name].read_text()) for name in ("0.05", "0.95"))
    assert (eager["routing"], reluctant["routing"]) == (EAGER, RELUCTANT)
    assert reluctant["hops_as_distances"] is True
    assert reluctant["adaptation"]["groups_modified"] == 0
    assert eager["adaptation"]["groups_modified"] > 0
    assert sorted(json.loads((out / "manifest.json").read_text())["routings"]) == [EAGER, RELUCTANT]


@pytest.mark.slow
@pytest.mark.tried_again
def test_hot_spots_receive_their_share_and_the_prediction_holds(tmp_path):
    fabric = {"q": 3, "hosts": 2, "link_rate": "500kbit", "warmup": 1, "duration": 3}
    told = summary_of_run(
        tmp_path / "run", "polarfly", **fabric, pattern="hotspot:hosts=2,share=0.4", load=0.2
    )
    assert told["pattern"] == "hotspot:hosts=2,share=0.4"
    # 24 or 25 of 26 hosts send 0.2 (0.4 / 2 + 0.6 / 25): 1.1 of the hot hosts' links.
    assert told["accepted"] == pytest.approx(told["predicted"]["accepted"], rel=0.1)
    assert told["predicted"]["accepted"] < 0.2

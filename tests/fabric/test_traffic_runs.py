"""Runs of traffic as users start them: warm-up, repeats, what is told meanwhile."""

import csv
import json
import os
import pty
import re
import subprocess

import pytest
from conftest import POLARLAB, polarlab, summary_of_run

ER2 = ["run", "polarfly", "--q", "2", "--link-rate", "500kbit"]
FABRIC = {"q": 2, "link_rate": "500kbit"}


def table(path):
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.mark.tried_again
def test_a_warm_up_ends_when_the_traffic_is_steady(tmp_path, no_leftovers):
    out = tmp_path / "run"
    traffic = {"warmup": "steady", "duration": 2, "load": 0.6, "arrivals": "bernoulli"}
    told = summary_of_run(out, "polarfly", **FABRIC, **traffic)
    assert told["steady"] is True
    assert 4 < told["warmup_s"] < 30
    assert told["measured_s"] == 2
    assert told["offered"] == pytest.approx(0.6, abs=0.08)
    assert told["arrivals"] == "bernoulli"
    # The sender ended with the window, and not a minute after.
    assert float(table(out / "throughput.csv")[-1]["time_s"]) < told["warmup_s"] + 4


@pytest.mark.slow
def test_repeated_runs_have_a_mean_an_interval_and_a_folder_each(tmp_path, no_leftovers):
    out = tmp_path / "run"
    done = polarlab(
        *ER2, "--warmup", "0.2", "--duration", "0.6", "--repeat", "2", "--json", "--out", str(out)
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    each = [json.loads((out / f"seed-{n}" / "summary.json").read_text()) for n in (1, 2)]
    assert told["repeat"]["seeds"] == [one["seed"] for one in each] == [1, 2]
    assert told["repeat"]["accepted"]["values"] == [one["accepted"] for one in each]
    assert told["accepted"] == pytest.approx(sum(one["accepted"] for one in each) / 2, abs=1e-5)
    assert len({one["packets"]["sent"] for one in each}) > 1
    assert told["repeat"]["accepted"]["ci95"] > 0
    assert (out / "seed-2" / "links.png").exists()


@pytest.mark.tried_again
def test_a_terminal_shows_what_goes_on(no_leftovers, tmp_path):
    master, slave = pty.openpty()
    words = [*ER2, "--warmup", "0", "--duration", "3", "--out", str(tmp_path / "run")]
    process = subprocess.Popen([POLARLAB, *words], stdout=subprocess.DEVNULL, stderr=slave)
    os.close(slave)
    said = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        said += part
    assert process.wait() == 0
    os.close(master)
    live = re.findall(rb"\d+\.\d s: [a-z ]*offered (\d\.\d+), accepted \d\.\d+", said)
    assert len(live) >= 3
    assert float(live[-1]) == pytest.approx(0.3, abs=0.12)


@pytest.mark.tried_again
def test_series_tell_of_links_and_pairs(tmp_path, no_leftovers):
    out = tmp_path / "run"
    traffic = {"pattern": "tornado", "load": 0.5, "warmup": 0.5, "duration": 2}
    told = summary_of_run(out, "polarfly", **FABRIC, **traffic)
    loads = {(row["link"], row["port"]): float(row["load"]) for row in table(out / "link_loads.csv")}
    assert len(loads) == 2 * 9  # ER_2 has nine links
    assert max(loads.values()) == pytest.approx(told["links"]["load_max"], abs=1e-5)
    # All routers' traffic in the links: a hop's worth of bytes for each packet.
    hops = sum(int(count) * packets for count, packets in told["hops"].items())
    assert sum(loads.values()) * 500_000 * 2 / 8000 == pytest.approx(hops, rel=0.1)
    series = table(out / "links.csv")
    assert {(row["link"], row["port"]) for row in series} == set(loads)
    assert sum(int(row["tx_bytes"]) for row in series) > 0

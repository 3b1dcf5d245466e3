"""The table of metrics: a metric is added in one line, and found wherever results are read."""

import csv
import json
import os
import re
import subprocess
import sys

import pytest

from experiments.results.metrics import METRICS, Engine

# The one line that a metric needs; then commands, and the page of keys, in a process that knows of it.
COMMANDS = """
import contextlib, io, json, shutil, sys
from experiments.results import metrics as table
table.METRICS += (table.Metric("latency_cycles.max", "longest latency", "cycles", name="latency_max_cycles"),)
from experiments.report.keys import keys_page
from polarlab.cli import main as entry
texts = []
for words in json.load(sys.stdin):
    if words[0] == "copy":
        shutil.copytree(*words[1:])
        continue
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert entry.main(words) == 0
    texts.append(out.getvalue())
print(json.dumps([*texts, keys_page()]))
"""
KEY, HALF = "latency_max_cycles", "latency_max_ci95_cycles"


def printed(*commands):
    """Returns what some commands print, and the page of keys."""
    words = json.dumps([[str(word) for word in command] for command in commands])
    command = [sys.executable, "-c", COMMANDS]
    env = {name: text for name, text in os.environ.items() if name != "COLUMNS"}  # lines are not wrapped
    done = subprocess.run(command, input=words, stdout=subprocess.PIPE, text=True, env=env, check=True)
    return json.loads(done.stdout)


def column(text, name):
    """Returns the cells of a printed table below one of its headings."""
    lines = [line.split() for line in text.replace(" ± ", "±").splitlines() if line.strip()]
    [head] = [line for line in lines if name in line]
    return [line[head.index(name)] for line in lines[lines.index(head) + 1 :]]


@pytest.mark.usefixtures("compiled_kernels")
def test_a_metric_that_is_one_line_is_found_wherever_results_are_read(tmp_path):
    sweep, copy, page = (tmp_path / name for name in ("sweep", "copy", "page.html"))
    results = [sweep / "points" / f"min-uniform-{load}" for load in (0.2, 0.4)]
    routers = ("polarfly", "--q", "2", "--cycles", "300", "--warmup", "100", "--repeat", "2")
    points = ("--engine", "simulation", "--workers", "1", "--loads", "0.2,0.4", "--routings", "min")
    table, swept, in_words, single, single_in_words, _, keys = printed(
        ("sweep", *routers, *points, "--patterns", "uniform", "--out", sweep),
        ("copy", sweep, copy),
        ("compare", sweep, copy, "--json"),
        ("compare", sweep, copy),
        ("compare", *results, "--json"),
        ("compare", *results),
        ("report", sweep, "--out", page),
    )
    with (sweep / "points.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert column(table, KEY) == [f"{float(row[KEY]):g}±{float(row[HALF]):.2g}" for row in rows]
    repeats = [json.loads((folder / "summary.json").read_text())["repeat"][KEY] for folder in results]
    seeds = [json.loads((results[0] / f"seed-{seed}" / "summary.json").read_text()) for seed in (1, 2)]
    assert repeats[0]["values"] == [summary["latency_cycles"]["max"] for summary in seeds]
    assert repeats[0]["ci95"] == float(rows[0][HALF]) > 0

    accepted = f"{float(rows[0]['accepted']):g} ± {float(rows[0]['accepted_ci95']):.2g}"
    assert in_words.count(accepted) == 2
    point, single = json.loads(swept)["points"][0], json.loads(single)
    assert point["values"][KEY] == [float(rows[0][KEY])] * 2
    assert point["intervals"][KEY] == [float(rows[0][HALF])] * 2
    assert single["results"][KEY] == [repeat["mean"] for repeat in repeats]
    assert single["intervals"][KEY] == [repeat["ci95"] for repeat in repeats]
    assert f"{repeats[0]['mean']:g} ± {repeats[0]['ci95']:.2g}" in single_in_words
    headings = dict(re.findall('<th title="([^"]*)">(.*?)</th>', page.read_text().replace("<wbr>", "")))
    assert headings["longest latency in cycles"] == KEY
    for name in (KEY, HALF, f"repeat.{KEY}"):
        assert f"\n| `{name}` | " in keys


def test_no_two_metrics_of_an_engine_have_one_key():
    for engine in Engine:
        keys = [one.key for one in METRICS if engine in one.engines]
        assert len(set(keys)) == len(keys)

"""Metrics that a real Prometheus scrapes, and the Grafana dashboard whose queries it answers."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import http.server
import json
import re
import shutil
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest
from support.builders.recordings import made_up_recording
from support.fixtures.documents import ROOT

from experiments.observation.model import IncidentState, Validity
from experiments.session.background import TrafficStatus
from polarlab.web.service.metrics import METRICS, TYPE, text_of

DASHBOARD = json.loads((ROOT / "docs" / "assets" / "grafana-polarlab.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
TARGETS = [target for panel in PANELS for target in panel["targets"]]
VARIABLES = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
# What Grafana would put for each variable.
VALUES = {"$__rate_interval": "5s", "$__range": "5s", "$instance": ".*", "$link": ".*"}
TIMEOUT_S = 60.0  # a busy machine may need it; one at rest needs a second
needs_prometheus = pytest.mark.skipif(
    not (shutil.which("prometheus") and shutil.which("promtool")),
    reason="needs prometheus; `make test` installs it",
)


def metrics_text() -> str:
    """Returns the metrics of a fabric that never was, in a state that has all of them."""
    recording = made_up_recording("polarfly", {"q": 3}, states=8)
    state = dataclasses.replace(
        recording.states[-1],
        down=recording.description.links[0].directions,
        failed=("link:s1-s10",),
        drained=("s3",),
        replans=2,
        groups_modified=40,
        detoured=0.25,
        traffic=TrafficStatus("uniform", 0.5, 3.0, 0.5, 0.49, 0.01, 1.5, 9.0, 0.02),
        validity=Validity(True, "s1 held frames for 0.20 frame times in the last second", 0.2),
        incident=IncidentState(
            number=1, what="link s1-s10 fails", pairs=12, interval_ms=10.0, sent=50, lost=3, silence_ms=40.0,
            repaired_ms=35.0, repaired_by="switches", planned_ms=120.0,
        ),
    )  # fmt: skip
    return text_of(msgspec.to_builtins(recording.description), msgspec.to_builtins(state))


def names_in(query: str) -> set[str]:
    """Returns the metrics that a query names."""
    return set(re.findall(r"\bpolarlab_\w+", query))


@functools.cache
def queries_of(title: str) -> tuple[str, ...]:
    """Returns the queries of the panel with a title that shows a course."""
    [panel] = [panel for panel in PANELS if panel["title"] == title and panel["type"] == "timeseries"]
    return tuple(target["expr"] for target in panel["targets"])


class _Page(http.server.BaseHTTPRequestHandler):
    """The live page's /metrics, always the same."""

    text = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", TYPE)
        self.end_headers()
        self.wfile.write(self.text)

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


@contextlib.contextmanager
def served(text: str) -> Iterator[int]:
    """Gives the port at which a text is served."""
    page = type("Page", (_Page,), {"text": text.encode()})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), page) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


class Prometheus:
    """A Prometheus process that scrapes one page, on a port that the kernel chose."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process, self._log = process, log
        self._port = self.wait(self._listening)

    def _listening(self) -> int | None:
        sockets = [one for one in psutil.net_connections("tcp4") if one.pid == self._process.pid]
        return next((one.laddr.port for one in sockets if one.status == psutil.CONN_LISTEN), None)

    def wait(self, found: Any) -> Any:
        """Returns what a function returns, once that holds."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            with contextlib.suppress(OSError):  # it answers 503 until it is ready
                if value := found():
                    return value
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < deadline, self._log.read_text()
            time.sleep(0.05)

    def ask(self, query: str, instant: bool = True) -> list[dict[str, Any]]:
        """Returns the series that answer a query, as Grafana asks it: now, or over the last seconds."""
        path, words = "query", {"query": query}
        if not instant:
            now = time.time()
            path, words = "query_range", words | {"start": f"{now - 2}", "end": f"{now}", "step": "1"}
        url = f"http://127.0.0.1:{self._port}/api/v1/{path}?{urllib.parse.urlencode(words)}"
        with urllib.request.urlopen(url, timeout=20) as answer:
            said = json.load(answer)
        assert said["status"] == "success", (query, said)
        return list(said["data"]["result"])


@contextlib.contextmanager
def prometheus(folder: Path, port: int) -> Iterator[Prometheus]:
    """Gives a Prometheus that has scraped the page at a port, and ends it."""
    config = {
        "global": {"scrape_interval": "200ms", "scrape_timeout": "200ms"},
        "scrape_configs": [
            {"job_name": "polarlab", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]},
        ],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))  # YAML includes JSON
    words = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    words += ["--web.listen-address=127.0.0.1:0", "--log.level=warn"]
    log = folder / "log"
    with log.open("wb") as file:
        process = subprocess.Popen(["prometheus", *words], stdout=file, stderr=file)
    try:
        scraping = Prometheus(process, log)
        scraping.wait(lambda: scraping.ask("count_over_time(polarlab_link_up[5s]) >= 3"))
        yield scraping
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus that has scraped a full state of a fabric."""
    folder = tmp_path_factory.mktemp("prometheus")
    with served(metrics_text()) as port, prometheus(folder, port) as scraping:
        yield scraping


def filled(query: str) -> str:
    """Returns a query with values for Grafana's variables."""
    for name, value in VALUES.items():
        query = query.replace(name, value)
    assert "$" not in query, query
    return query


def test_the_dashboard_shows_every_metric_and_no_other():
    used = set().union(*(names_in(target["expr"]) for target in TARGETS))
    assert used == set(METRICS)
    asked = {name for variable in VARIABLES.values() for name in names_in(str(variable["query"]))}
    assert asked <= set(METRICS)


def test_the_dashboard_takes_its_data_from_the_prometheus_that_the_reader_chooses():
    assert (VARIABLES["datasource"]["type"], VARIABLES["datasource"]["query"]) == ("datasource", "prometheus")
    chosen = {"type": "prometheus", "uid": "${datasource}"}
    assert all(part["datasource"] == chosen for part in [*PANELS, *TARGETS])
    assert DASHBOARD["id"] is None  # an import gives it a number


def test_panels_have_numbers_of_their_own_and_do_not_overlap():
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [panel["gridPos"] for panel in panels]
    cells = [
        (x, y)
        for at in places
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


def test_a_full_state_has_every_metric():
    assert set(re.findall(r"^# TYPE (\w+)", metrics_text(), re.MULTILINE)) == set(METRICS)


@needs_prometheus
def test_promtool_accepts_the_metrics():
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=metrics_text(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@needs_prometheus
def test_prometheus_answers_every_query_of_the_dashboard(scraped):
    unanswered = [
        target["expr"] for target in TARGETS if not scraped.ask(filled(target["expr"]), target["instant"])
    ]
    assert TARGETS
    assert not unanswered


@needs_prometheus
@pytest.mark.parametrize("title", ["Load of the ten busiest directions", "The ten longest queues"])
def test_ten_directions_are_shown_however_long_the_time(scraped, title):
    [query] = queries_of(title)
    assert len(scraped.ask(filled(query), instant=False)) == 10


@needs_prometheus
def test_a_link_counts_once_if_both_of_its_ports_have_no_carrier(scraped):
    [query] = queries_of("Links down")
    [series] = scraped.ask(filled(query))
    assert series["value"][1] == "1"
    assert len(scraped.ask("polarlab_link_up == 0")) == 2


@needs_prometheus
def test_latencies_are_those_of_the_state(scraped):
    values = [scraped.ask(filled(query))[0]["value"][1] for query in queries_of("Latency")]
    assert values == ["0.0015", "0.009"]

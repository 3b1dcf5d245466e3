"""The live page: from a click to a detour, frames a second, what it takes from a fabric, and its size."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import psutil
from rows import Row

import polarlab
from polarlab.web.address import WebAddress
from polarlab.web.page_server import PageServer

sys.path.append(str(Path(__file__).parents[1]))
from support.builders.recordings import made_up_recording
from support.fixtures.browser import Page, browser

_PAGES = 20
_SECONDS = 15.0
_PAN_MS = 5_000
# The page is panned while the recording is played, five states a second; drawn frames are counted.
_FRAMES = """
const done = arguments[arguments.length - 1], times = [], begin = performance.now();
const cy = document.getElementById('graph')._cyreg.cy;
cy.on('render', () => times.push(performance.now()));
document.getElementById('play').click();
function pan() {
  const passed = performance.now() - begin;
  cy.panBy({x: 6 * Math.sin(passed / 300), y: 4 * Math.cos(passed / 300)});
  if (passed < arguments_ms) requestAnimationFrame(pan);
  else done(1000 * (times.length - 1) / (times.at(-1) - times[0]));
}
requestAnimationFrame(pan);
""".replace("arguments_ms", str(_PAN_MS))
# From the click on `cut` until the link is drawn as dead, and the time of the click.
_CUT = """
const done = arguments[arguments.length - 1], cy = document.getElementById('graph')._cyreg.cy;
const edge = cy.getElementById(arguments[0]);
const button = [...document.querySelectorAll('#actions button')].find((one) => one.textContent === 'cut');
const clicked = Date.now(), begin = performance.now();
button.click();
function look() {
  if (edge.hasClass('dead')) requestAnimationFrame(() => done([clicked / 1000, performance.now() - begin]));
  else requestAnimationFrame(look);
}
look();
"""
_OPENED = """
const done = arguments[arguments.length - 1];
function look() {
  if (document.getElementById('graph')._cyreg?.cy.nodes().length) done(performance.now());
  else requestAnimationFrame(look);
}
look();
"""


def cuts() -> list[Row]:
    """From a click on a link until the page shows it dead and a packet has come by a detour."""
    shown, around = [], []
    with _fabric(web="0", link_rate="10Mbit", routing="ugal-pf") as fabric, browser() as page:
        page.open(str(fabric.url))
        page.driver.set_script_timeout(30)
        for link in ("s1-s28", "s2-s13", "s5-s9", "s3-s8", "s10-s21"):
            found = [one for one in fabric.topology.link_list if _named(one.a, one.b, link)]
            if not found:
                continue
            page.find(link)
            page.wait(
                lambda: page.run("return document.querySelector('#actions button')?.textContent === 'cut'")
            )
            clicked_s, dead_ms = page.driver.execute_async_script(_CUT, f"link:{link}")
            shown.append(dead_ms)
            around.append(_first_around_s(fabric, page, clicked_s) - clicked_s)
            fabric.restore("all")
            time.sleep(3)
    worst = max(*shown, *(1e3 * one for one in around))
    return [
        Row(
            "live page, ER_5: from a click on a link until the page shows it dead, and until packets of all "
            f"probed pairs have come by detours (median of {len(shown)}; the longest of all)",
            "-",
            f"{median(shown):.0f} ms, {1e3 * median(around):.0f} ms; {worst:.0f} ms",
            "300 ms",
            worst <= 300,
        )
    ]


def _named(a: int, b: int, link: str) -> bool:
    return link in (f"s{a + 1}-s{b + 1}", f"s{b + 1}-s{a + 1}")


def _first_around_s(fabric: polarlab.Fabric, page: Page, clicked_s: float) -> float:
    """Returns the time at which all probed pairs were heard again after a click, in s since the epoch."""
    cut_s = clicked_s - time.time() + time.monotonic()
    page.wait(lambda: [one for one in _repairs(fabric) if one > cut_s])
    return time.time() - time.monotonic() + min(one for one in _repairs(fabric) if one > cut_s)


def _repairs(fabric: polarlab.Fabric) -> list[float]:
    """Returns the times at which probed pairs were heard again, on time.monotonic's clock."""
    timeline = fabric.timeline
    assert timeline
    return [
        one.time_s - timeline.now_s + time.monotonic()
        for one in timeline.entries()
        if one.kind == "repair" and "probed pairs" in one.text
    ]


def frames() -> list[Row]:
    """Frames a second of ER_13 under five states a second, while the view pans, drawn by software."""
    with PageServer(WebAddress("127.0.0.1", 0)) as server, browser() as page:
        server.replay(made_up_recording("polarfly", {"q": 13}))
        page.open(server.url)
        page.driver.set_script_timeout(60)
        rate = median(float(page.driver.execute_async_script(_FRAMES)) for _ in range(3))
    return [
        Row(
            "live page, ER_13 (1,274 links), replayed at 5 states a second while the view pans, without a "
            "graphics processor",
            "-",
            f"{rate:.0f} frames/s",
            "over 20 frames/s",
            rate > 20,
        )
    ]


def costs() -> list[Row]:
    """Processor time that a page takes from ER_5 under traffic, and what the traffic notices."""
    loads = {}
    accepted = {}
    for web in (None, "0"):
        with _fabric(web=web, link_rate="500kbit", hosts=2) as fabric, _clients(fabric, 1 if web else 0):
            fabric.start_traffic("uniform", 0.4)
            time.sleep(3)
            before, began_s = _own_cpu_s(), time.monotonic()
            time.sleep(_SECONDS)
            loads[web] = (_own_cpu_s() - before) / (time.monotonic() - began_s)
            accepted[web] = fabric.stop_traffic().accepted
    more, change = loads["0"] - loads[None], accepted["0"] / accepted[None] - 1
    return [
        Row(
            "live page open, ER_5 under uniform traffic at 0.4: processor time of all but switches and "
            "generator, beyond that without a page",
            f"{loads[None]:.1%} of a core",
            f"{more:.1%} of a core more; accepted {change:+.2%}",
            "under 5 %; accepted within 1 %",
            more < 0.05 and abs(change) < 0.01,
        )
    ]


def crowds() -> list[Row]:
    """Twenty pages at once, one of which never reads: what a run notices, of two alternating runs each."""
    accepted: dict[str | None, list[float]] = {None: [], "0": []}
    lags: dict[str | None, list[float]] = {None: [], "0": []}
    for web in (None, "0", None, "0"):
        with _fabric(web=web, link_rate="500kbit", hosts=2) as fabric, _clients(fabric, _PAGES if web else 0):
            folder = Path("results", f"bench-pages-{web}-{time.time():.0f}")
            run = fabric.traffic(pattern="uniform", load=0.4, warmup=3, duration=10, out=folder).summary
        accepted[web].append(run.accepted or 0.0)
        lags[web].append(run.fidelity.generator_lag_ms_p99 or 0.0)
    change = sum(accepted["0"]) / sum(accepted[None]) - 1
    alone, watched = min(lags[None]), min(lags["0"])  # noise only ever adds
    return [
        Row(
            f"{_PAGES} pages at once, one of which never reads, ER_5 under uniform traffic at 0.4",
            f"without: accepted {accepted[None][0]:.4f}, generator lag p99 {alone:.2f} ms",
            f"accepted {change:+.2%}, generator lag p99 {watched:.2f} ms",
            "accepted within 1 %, lag unchanged",
            abs(change) < 0.01 and watched < alone + 0.5,
        )
    ]


def sizes() -> list[Row]:
    """Size of the page and of the packages that it needs, and the time until it is usable."""
    files = sum(path.stat().st_size for path in Path("polarlab/web/page").rglob("*") if path.is_file())
    packages = sum(map(_package_bytes, ("starlette", "uvicorn", "h11", "anyio")))
    with PageServer(WebAddress("127.0.0.1", 0)) as server, browser() as page:
        server.replay(made_up_recording("polarfly", {"q": 5}))
        opened = []
        for _ in range(5):
            page.driver.get(server.url)
            opened.append(float(page.driver.execute_async_script(_OPENED)))
    return [
        Row(
            "live page: its own files; Python packages more than before; Debian packages more; time until it "
            "is usable",
            "-",
            f"{files / 1e6:.2f} MB; {packages / 2**20:.1f} MiB; none; {median(opened):.0f} ms",
            "under 2 MB; under 10 MiB; none; 1 s",
            files < 2e6 and packages < 10 * 2**20 and median(opened) < 1000,
        )
    ]


def _package_bytes(name: str) -> int:
    """Returns the size of an installed package, with what Python has compiled of it."""
    files = metadata.files(name) or []
    return sum(Path(str(one.locate())).stat().st_size for one in files if Path(str(one.locate())).exists())


def _fabric(**options: Any) -> polarlab.Fabric:
    return polarlab.Fabric("polarfly", q=5, **{"routing": "min", **options})


def _own_cpu_s() -> float:
    """Returns the processor time of this process and of its Python children, in s."""
    spent = 0.0
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            if "python" in process.name() and "traffic.engine" not in " ".join(process.cmdline()):
                spent += times.user + times.system
    return spent


@contextlib.contextmanager
def _clients(fabric: polarlab.Fabric, count: int) -> Iterator[None]:
    """Has clients read the stream of a fabric's states; of several the first one never does."""
    opened = []
    for number in range(count):
        address = urlsplit(str(fabric.url))
        connection = socket.create_connection(("127.0.0.1", address.port or 0))
        connection.sendall(f"GET /api/stream?{address.query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        opened.append(connection)
        if number or count == 1:
            threading.Thread(target=_read, args=(connection,), daemon=True).start()
    try:
        yield
    finally:
        for connection in opened:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()


def _read(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while connection.recv(1 << 16):
            pass

"""Site of the documentation: built without warnings, whole, self-contained, and as wide as a phone."""

import functools
import http
import http.server
import importlib.util
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
from urllib.parse import unquote, urlsplit

import pytest
from support.fixtures.documents import GENERATED, ROOT

BROWSER = shutil.which("chromium")
# Pages that are shown in turn in a frame as wide as a phone, by a page of our own.
PHONE_PX = 390
HARNESS = """<!doctype html><iframe id="frame" style="width:%dpx;height:844px;border:0"></iframe>
<script>
const pages = %s, frame = document.getElementById("frame"), found = {};
function next() {
  const page = pages.shift();
  if (!page) {
    fetch("/result", {method: "POST", body: JSON.stringify(found)});
    return;
  }
  frame.onload = () => setTimeout(() => {
    const root = frame.contentDocument.documentElement, here = frame.contentWindow.location.origin;
    const loaded = frame.contentWindow.performance.getEntriesByType("resource").map(entry => entry.name);
    const wide = [...frame.contentDocument.querySelectorAll("article *")].filter(
      item => item.getBoundingClientRect().right > %d && !item.closest("pre, .highlight, p:has(> img)"));
    found[page] = {
      width: root.scrollWidth,
      foreign: loaded.filter(name => !name.startsWith(here) && !name.startsWith("data:")),
      wide: wide.slice(0, 3).map(item => item.outerHTML.slice(0, 120)),
    };
    next();
  }, 20);
  frame.src = page;
}
next();
</script>"""

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("zensical") is None or importlib.util.find_spec("mkdocstrings") is None,
    reason="needs zensical and mkdocstrings; `make docs` installs them",
)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of the site, and what the build printed."""
    project = tmp_path_factory.mktemp("project")
    shutil.copy(ROOT / "mkdocs.yml", project)
    generator = ROOT / "docs" / "generate"
    environment = {**os.environ, "PYTHONPATH": f"{generator}:{ROOT}"}
    subprocess.run(
        [sys.executable, generator / "assembly.py", project / "build" / "docs"], env=environment, check=True
    )
    words = [sys.executable, "-P", "-m", "zensical", "build", "--strict"]
    done = subprocess.run(words, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return project / "site", done.stdout + done.stderr


def pages_of(site):
    return sorted(path.name for path in site.glob("*.html") if path.name != "404.html")


def test_it_builds_without_warnings_and_every_page_is_in_the_navigation(built):
    site, printed = built
    assert "No issues found" in printed
    names = {*GENERATED, *(page.stem for page in (ROOT / "docs").glob("*/*.md"))}
    notebooks = {notebook.stem for notebook in (ROOT / "examples").glob("*.ipynb")}
    assert {page.removesuffix(".html") for page in pages_of(site)} == names | notebooks
    navigation = set(re.findall(r": ([\w-]+)\.md$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    assert navigation == names | notebooks
    for name in GENERATED:
        assert "This page is generated from the code" not in (site / f"{name}.html").read_text(), name


def test_every_link_leads_to_a_page_a_heading_or_a_file_of_the_site(built):
    site, _ = built
    texts = {page: (site / page).read_text() for page in pages_of(site)}
    anchors = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in texts.items()}
    for page, text in texts.items():
        for link in re.findall(r'<a\s[^>]*href="([^"]+)"', text):
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = unquote(parts.path).removeprefix("./") or page
            target = "index.html" if target == "." else target
            assert (site / target).exists(), f"{page}: {link}"
            if parts.fragment and target in anchors:
                assert unquote(parts.fragment) in anchors[target], f"{page}: {link}"


def test_it_loads_nothing_from_elsewhere(built):
    site, _ = built
    for page in site.glob("*.html"):
        text = page.read_text()
        assert not re.findall(r'<(?:script|img|iframe|source)\b[^>]*\bsrc="(?:https?:)?//[^"]*"', text), page
        assert not re.findall(r'<link\b[^>]*\bhref="(?:https?:)?//[^"]*"', text), page
    for style in site.rglob("*.css"):
        assert not re.findall(r"""(?:@import|url\()\s*["']?(?:https?:)?//[^)]*""", style.read_text()), style


class _Site(http.server.SimpleHTTPRequestHandler):
    """Serves a site, and takes the harness's result."""

    def do_POST(self):
        """Hands the result to the test."""
        self.server.results.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(http.HTTPStatus.NO_CONTENT)
        self.end_headers()

    def log_message(self, *_arguments):
        """Prints nothing."""


@pytest.fixture
def server(built):
    """A server of the site on loopback."""
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(_Site, directory=str(built[0]))
    ) as server:
        server.daemon_threads, server.results = True, queue.SimpleQueue()
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.skipif(BROWSER is None, reason="needs chromium; `make test` installs it")
def test_every_page_fits_a_phone_and_asks_only_its_own_server(built, server, tmp_path):
    site, _ = built
    pages = pages_of(site)
    (site / "harness.htm").write_text(HARNESS % (PHONE_PX, json.dumps(pages), PHONE_PX))
    quiet = (
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    )
    words = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", *quiet, f"--user-data-dir={tmp_path}"]
    words += ["--remote-debugging-port=0", f"http://127.0.0.1:{server.server_address[1]}/harness.htm"]
    with subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as browser:
        try:
            found = server.results.get(timeout=60)
        finally:
            os.killpg(browser.pid, signal.SIGKILL)
    assert sorted(found) == pages
    assert {page: seen["foreign"] for page, seen in found.items() if seen["foreign"]} == {}
    assert {page: seen for page, seen in found.items() if seen["width"] > PHONE_PX or seen["wide"]} == {}

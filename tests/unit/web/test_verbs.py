"""One declaration of a verb: found at the prompt, in `polarlab.Fabric`, in the API and on the page."""

import asyncio
import contextlib
import inspect
import json
import threading
import time
from types import SimpleNamespace

import msgspec
import pytest
import uvicorn
from support.fixtures.browser import browser, needs_browser
from support.fixtures.command_line import unnamed
from support.fixtures.documents import ROOT

import polarlab
from experiments.observation.description import describe
from experiments.spec.settings import FabricSettings
from polarlab.api.verb import Http, Line, verb
from polarlab.api.verbs import SessionVerbs
from polarlab.web.actions import PageVerbs, actions, page_of
from polarlab.web.handlers import answer
from polarlab.web.service.app import make_app
from polarlab.web.service.guard import Guard, Rules
from polarlab.web.service.hub import Hub
from polarlab.web.service.openapi import document
from topology.families.low_diameter.polarfly import PolarFly
from traffic.workload.patterns import PATTERNS

PAGE = ROOT / "polarlab" / "web" / "page"
FORMS = ("traffic", "path", "routing", "more")  # others are about what is selected


@verb(
    Line("blink SWITCH [SECONDS] [--bright]", "Only switches with lights blink."),
    Http("POST", "/api/blink", "told", limits={"seconds": msgspec.Meta(gt=0, le=60)}),
)
def blink(self, switch: str, seconds: float = 1.0, *, bright: bool = False) -> str:
    """Blinks the lights of a switch, and returns what it did.

    Args:
        switch: the switch, as `s3`.
        seconds: how long.
        bright: whether the lights are bright.
    """
    return self.session.blink(switch, seconds, bright)


class Network(dict[str, object]):
    """A network without nodes."""

    switches = ()


class Session:
    """A session whose switches can blink."""

    def __init__(self):
        self.fabric = SimpleNamespace(network=Network())
        self.turns = SimpleNamespace(measuring=None)
        self.busy = None
        self.blinked = []

    def routing_status(self):
        return SimpleNamespace(values={})

    def blink(self, *values):
        self.blinked.append(values)
        return f"{values[0]} blinks"


@pytest.fixture
def session(monkeypatch):
    """A session of a fabric that has one verb more, added at one place."""
    monkeypatch.setattr(SessionVerbs, "blink", blink, raising=False)
    return Session()


# ---- the page ----


def told(session):
    """Returns what the page is told of a fabric that has the session's verbs."""
    settings = FabricSettings(
        name="polarfly", params={"q": 2}, hosts=1, link_rate_bps=2_000_000, queue_packets=32, mtu=1500
    )
    return page_of(describe(PolarFly(2), settings, "ugal-pf", actions=page_verbs(session).allowed))


def test_the_page_is_told_of_it(session):
    [one] = [verb for verb in told(session)["verbs"] if verb["name"] == "blink"]
    assert (one["method"], one["path"]) == ("POST", "/api/blink")
    assert one["help"] == "Blinks the lights of a switch"
    switch, seconds = one["fields"]
    assert (switch["type"], switch["required"], switch["description"]) == (
        "string",
        True,
        "the switch, as `s3`.",
    )
    assert (seconds["type"], seconds["value"], seconds["maximum"]) == ("number", 1.0, 60)
    assert [button["label"] for button in one["buttons"]] == ["blink"]


def test_what_only_reads_has_a_button_only_if_that_is_declared(session):
    names = {verb["name"] for verb in told(session)["verbs"]}
    assert names.isdisjoint({"switch", "link", "results", "download", "routing", "recording"})
    assert "path" in names


def test_fields_and_buttons_are_of_arguments_that_the_verb_has():
    for one in actions().values():
        arguments = {field.name for field in msgspec.structs.fields(one.request)}
        assert {*one.page.fields, *one.page.without} <= arguments
        required = {field.name for field in msgspec.structs.fields(one.request) if field.required}
        for button in one.buttons:
            assert {*button.gives} <= arguments
            assert button.on in FORMS or required <= {*button.gives}


@contextlib.contextmanager
def served(session):
    """Gives the address of a page whose requests are answered in this process."""
    hub = AnsweringHub(page_verbs(session))
    hub.about = told(session)
    hub.about_json = msgspec.json.encode(hub.about)
    files = {
        path.relative_to(PAGE).as_posix(): path.read_bytes() for path in PAGE.rglob("*") if path.is_file()
    }
    config = uvicorn.Config(
        Guard(make_app(hub, files, "1"), Rules()),
        port=0,
        lifespan="off",
        log_config=None,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = hub.ended = True
        thread.join()


@needs_browser
def test_a_browser_shows_it_and_does_it(session):
    with served(session) as url, browser() as page:
        page.open(url)
        page.run("document.getElementById('more').open = true")
        seconds = page.run(
            "const field = document.getElementById('more-blink-seconds');"
            "return [field.type, field.value, field.max]"
        )
        assert seconds == ["number", "1", "60"]
        page.press("blink", within="more-blink-form")
        assert session.blinked == []  # without a switch
        page.run(
            "document.getElementById('more-blink-switch').value = 's3';"
            "document.getElementById('more-blink-seconds').value = '0.5'"
        )
        page.press("blink", within="more-blink-form")
        page.wait(lambda: page.text("more-blink-form").endswith('{"told":"s3 blinks"}'))
        assert session.blinked == [("s3", 0.5, False)]
        assert page.errors() == []


@needs_browser
def test_forms_of_a_browser_have_the_fields_that_fit_to_what_is_chosen(session):
    visible = (
        "return [...document.querySelectorAll('#traffic-form label, #traffic-form button')]"
        ".filter((one) => one.offsetParent).map((one) => one.firstChild.textContent.trim())"
    )
    with served(session) as url, browser() as page:
        page.open(url)
        assert page.run(visible) == [
            *("pattern", "load", "seed", "start", "stop", "seconds", "measure", "stop measuring"),
        ]
        page.run(
            "const field = document.getElementById('traffic-pattern'); field.value = 'allreduce:ring';"
            "field.dispatchEvent(new Event('change'))"
        )
        assert {"message", "times", "measure"} <= {*page.run(visible)}
        assert {"load", "seconds", "start"}.isdisjoint(page.run(visible))
        assert page.errors() == []


# ---- the prompt ----


@pytest.fixture
def prompt(session):
    commands = pytest.importorskip("polarlab.cli.prompt.commands", exc_type=ImportError)
    return commands.SessionPrompt(session, None)


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("blink s3", ("s3", 1.0, False)),
        ("blink s3 2", ("s3", 2.0, False)),
        ("blink s3 0.5 --bright", ("s3", 0.5, True)),
    ],
)
def test_a_line_of_the_prompt_does_it(prompt, session, capsys, line, values):
    prompt.onecmd(line)
    assert session.blinked == [values]
    assert capsys.readouterr().out == "s3 blinks\n"


@pytest.mark.parametrize("line", ["blink", "blink s3 soon", "blink s3 2 3", "blink --bright", "blinks s3"])
def test_a_wrong_line_is_an_error_and_does_nothing(prompt, session, line):
    prompt.onecmd(line)
    assert prompt.status == 1
    assert prompt.reason
    assert session.blinked == []


def test_the_prompt_lists_describes_and_completes_it(prompt, capsys):
    prompt.onecmd("help")
    listed = capsys.readouterr().out
    assert "  blink      Blinks the lights of a switch: blink SWITCH [SECONDS] [--bright].\n" in listed
    prompt.onecmd("help blink")
    assert "Only switches with lights blink.\n" in capsys.readouterr().out
    assert prompt.completenames("bli") == ["blink"]


# ---- Python, the API and its document ----


def test_the_fabric_in_python_has_it_with_types_and_documentation():
    assert not hasattr(polarlab.Fabric, "blink")


def test_the_fabric_in_python_has_it(session):
    assert "how long" in inspect.getdoc(polarlab.Fabric.blink)
    assert SessionVerbs(session).blink("s4", seconds=3.0) == "s4 blinks"


@pytest.mark.usefixtures("session")
def test_the_document_of_the_api_has_it():
    described = document("1")
    operation = described["paths"]["/api/blink"]["post"]
    assert operation["operationId"] == "blink"
    assert operation["summary"].startswith("blinks")
    schema = described["components"]["schemas"]["Blink"]
    assert schema["required"] == ["switch"]
    assert set(schema["properties"]) == {"switch", "seconds"}
    assert schema["properties"]["seconds"]["maximum"] == 60


class AnsweringHub(Hub):
    """A hub whose requests are answered in this process."""

    def __init__(self, verbs):
        super().__init__()
        self.about = {"actions": verbs.allowed, "links": [], "replay": None}
        self.verbs = verbs

    async def ask(self, action, arguments):
        return answer(self.verbs, 1, action, json.dumps(arguments).encode())


def page_verbs(session):
    return PageVerbs(session, SimpleNamespace(report_now=lambda: None))


def posted(session, path, body):
    """Returns status and body of the answer to a request over HTTP."""
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
    }
    messages = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        messages.append(message)

    asyncio.run(make_app(AnsweringHub(page_verbs(session)), {}, "1")(scope, receive, send))
    return messages[0]["status"], json.loads(messages[1]["body"])


def test_a_request_does_it(session):
    body = b'{"switch": "s3", "seconds": 2}'
    assert posted(session, "/api/blink", body) == (200, {"told": "s3 blinks"})
    assert session.blinked == [("s3", 2.0, False)]


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{}", b"[]", b'{"switch": ""}', b'{"switch": 3}', b'{"switch": "s3\\n"}'),
        *(b'{"switch": "s3", "seconds": "2"}', b'{"switch": "s3", "seconds": 61}'),
        *(b'{"switch": "s3", "more": 1}', b'{"switch": "s3", "bright": true}'),
    ],
)
def test_a_request_of_another_form_is_refused_on_both_sides_of_the_channel(session, body):
    assert posted(session, "/api/blink", body)[0] == 400
    assert answer(page_verbs(session), 1, "blink", body).status == 400
    assert session.blinked == []


@pytest.mark.usefixtures("own_names")
def test_a_verb_that_calls_a_failing_function_of_a_plugin_names_its_line(prompt, session, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from polarlab.extend import PatternDefinition, register\n"
        "def mapped(*arguments): return [].nothing\n"
        'register("mapped", PatternDefinition("routers", "mapped", "-", mapped))\n'
    )
    polarlab.register(tmp_path / "mine.py")
    session.blink = PATTERNS["mapped"].router_map
    status, told = posted(session, "/api/blink", b'{"switch": "s3"}')
    assert status == 400
    prompt.onecmd("blink s3")
    for text in (told["error"], prompt.reason):
        assert not unnamed(text, "mine.py line 2 AttributeError")


def test_without_a_declaration_there_is_no_request(session):
    assert "hang" not in actions()
    assert answer(page_verbs(session), 1, "hang", b'{"switch": "s3"}').status == 409


@pytest.mark.parametrize("name", ["restore", "undrain"])
def test_what_must_be_given_has_no_default_in_requests(session, name):
    assert answer(page_verbs(session), 1, name, b"{}").status == 400
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({}, actions()[name].request)

"""One declaration of a verb: found at the prompt, in `polarlab.Fabric`, in the API and in its document."""

import asyncio
import inspect
import json
from types import SimpleNamespace

import msgspec
import pytest

import polarlab
from polarlab.api.verb import Http, Line, verb
from polarlab.api.verbs import SessionVerbs
from polarlab.web.actions import PageVerbs, actions
from polarlab.web.handlers import answer
from polarlab.web.service.app import make_app
from polarlab.web.service.hub import Hub
from polarlab.web.service.openapi import document


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
    told = document("1")
    operation = told["paths"]["/api/blink"]["post"]
    assert operation["operationId"] == "blink"
    assert operation["summary"].startswith("blinks")
    schema = told["components"]["schemas"]["Blink"]
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
    return PageVerbs(session, SimpleNamespace(look=lambda: None))


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


def test_without_a_declaration_there_is_no_request(session):
    assert "hang" not in actions()
    assert answer(page_verbs(session), 1, "hang", b'{"switch": "s3"}').status == 409


@pytest.mark.parametrize("name", ["restore", "undrain"])
def test_what_must_be_given_has_no_default_in_requests(session, name):
    assert answer(page_verbs(session), 1, name, b"{}").status == 400
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({}, actions()[name].request)

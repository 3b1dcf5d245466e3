"""The API of the live page against its own OpenAPI document, with made-up requests, good and bad."""

import asyncio
import functools
import json
import re
from urllib.parse import quote, urlencode

import jsonschema
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from starlette.routing import Route

from polarlab.web.actions import actions
from polarlab.web.channel import Answer
from polarlab.web.service.app import make_app
from polarlab.web.service.guard import Guard, Rules
from polarlab.web.service.hub import Hub
from polarlab.web.service.openapi import document

DOCUMENT = document("1.2.3")
FILES = {"index.html": b"<p>", "main.js": b"//"}
PLACE = re.compile(r"\{(\w+)\}")
# Every operation of the document, as (path, method, operation).
OPERATIONS = [
    (path, method.upper(), operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]
WITH_BODY = [one for one in OPERATIONS if "requestBody" in one[2]]
READING = [one for one in OPERATIONS if one[1] == "GET" and "operationId" in one[2]]


def names_of(operations):
    return [f"{method} {path}" for path, method, _ in operations]


class RecordingHub(Hub):
    """A hub of a fabric that allows everything, and keeps what reaches it."""

    def __init__(self):
        super().__init__()
        self.about = {"actions": list(actions()), "links": [], "replay": None}
        self.ended = True  # so that streams end at once
        self.asked = []

    async def ask(self, action, arguments):
        self.asked.append((action, arguments))
        if action == "download":
            return Answer(1, 200, None, file=b"PK", file_name="run.zip")
        return Answer(1, 200, {})


@functools.cache
def application():
    """Returns the application behind its guard, and its hub."""
    hub = RecordingHub()
    return Guard(make_app(hub, FILES, "1.2.3"), Rules()), hub


def request(method, target, body=b"", **headers):
    """Returns status, headers, body and what reached the fabric, of a request in this process."""
    app, hub = application()
    hub.asked = []
    path, _, query = target.partition("?")
    given = {"host": "localhost", **{name.replace("_", "-"): text for name, text in headers.items()}}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": quote(path).encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(name.encode(), text.encode("latin-1")) for name, text in given.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    messages = []

    async def receive():
        if messages:
            await asyncio.sleep(60)
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        messages.append(message)

    asyncio.run(app(scope, receive, send))
    start, *rest = messages
    answered = {name.decode(): text.decode() for name, text in start["headers"]}
    return start["status"], answered, b"".join(one["body"] for one in rest), hub.asked


def post(method, path, value):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return request(method, path, body, content_type="application/json")


def listed(operation, answer):
    """Checks that an answer is one that the document has for an operation."""
    status, headers, body, _ = answer
    told = operation["responses"].get(str(status))
    assert told, (status, body)
    [(kind, content)] = told["content"].items()
    assert headers["content-type"].partition(";")[0] == kind
    if kind == "application/json":
        jsonschema.Draft202012Validator(resolved(content["schema"])).validate(json.loads(body))
    return status


def resolved(schema):
    """Returns a schema of the document with the components that it refers to."""
    return {**schema, "components": DOCUMENT["components"]}


@functools.cache
def validator(name):
    return jsonschema.Draft202012Validator(resolved({"$ref": f"#/components/schemas/{name}"}))


def body_schema(operation):
    reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    return reference.rpartition("/")[2]


# ---- the document ----


def nodes(value):
    """Returns all objects inside a JSON value."""
    if isinstance(value, dict):
        yield value
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from nodes(child)


def test_the_document_is_whole():
    assert DOCUMENT["openapi"].startswith("3.1.")
    assert {"title", "version"} <= set(DOCUMENT["info"])
    assert json.loads(request("GET", "/openapi.json")[2]) == DOCUMENT
    known = {"openapi", "info", "paths", "components", "security"}
    assert set(DOCUMENT) == known
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    for requirement in DOCUMENT["security"]:
        assert set(requirement) <= set(DOCUMENT["components"]["securitySchemes"])
    names = [operation["operationId"] for *_, operation in OPERATIONS if "operationId" in operation]
    assert sorted(names) == sorted(actions())
    for *_, operation in OPERATIONS:
        assert operation["summary"]
        assert all(one["description"] and one["content"] for one in operation["responses"].values())


def test_every_reference_resolves():
    references = [node["$ref"] for node in nodes(DOCUMENT) if "$ref" in node]
    assert len(references) > len(OPERATIONS)
    for reference in references:
        first, *steps = reference.split("/")
        assert first == "#"
        functools.reduce(lambda value, step: value[step], steps, DOCUMENT)


def test_names_in_paths_are_described():
    for path, _, operation in OPERATIONS:
        parameters = operation.get("parameters", [])
        assert {one["name"] for one in parameters if one["in"] == "path"} == set(PLACE.findall(path))
        assert all(one["required"] for one in parameters if one["in"] == "path")
        for one in parameters:
            assert one["in"] in ("path", "query")
            jsonschema.Draft202012Validator.check_schema(one["schema"])


def test_the_document_and_the_application_have_the_same_requests():
    app = make_app(Hub(), FILES, "1")
    served = {
        (route.path, method)
        for route in app.routes
        if isinstance(route, Route)
        for method in route.methods - {"HEAD"}
    }
    pages = {("/", "GET"), *((f"/{name}", "GET") for name in FILES)}
    assert served - pages == {(path, method) for path, method, _ in OPERATIONS}
    assert pages <= served


# ---- requests ----

of_each = settings(max_examples=40)  # of seven or eight operations, which share how they are read

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
# Whatever a client may write, decoded: no lone surrogates, which no UTF-8 has.
WORD = st.text(st.characters(exclude_categories=["Cs"]) | st.characters(max_codepoint=126), max_size=30)


def values_of(schema):
    """Returns values that match the schema of a field."""
    if schema["type"] == "string":
        return st.text(
            st.characters(min_codepoint=32, max_codepoint=126), min_size=schema.get("minLength", 0)
        )
    most, least = schema.get("maximum"), schema.get("minimum", schema.get("exclusiveMinimum"))
    if schema["type"] == "integer":
        return st.integers(least, most)
    return st.floats(least, most, exclude_min="exclusiveMinimum" in schema)


@functools.cache
def bodies_of(name):
    """Returns bodies that match a schema."""
    schema = DOCUMENT["components"]["schemas"][name]
    fields = {name: values_of(one) for name, one in schema["properties"].items()}
    needed = {name: fields.pop(name) for name in schema["required"]}
    return st.fixed_dictionaries(needed, optional=fields)


@functools.cache
def nearly_bodies_of(name):
    """Returns bodies like them, of which a field is another, missing or too much."""
    fields = DOCUMENT["components"]["schemas"][name]["properties"]
    odd = st.sampled_from(["", 0, -1, 1.5, 2**63, 1e308, None, True, [], {}, "x" * 4097]) | JSON
    changed = st.dictionaries(st.sampled_from([*fields, "more"]), odd, min_size=1, max_size=2)
    return st.builds(lambda good, bad: {**good, **bad}, bodies_of(name), changed) | JSON


@pytest.mark.parametrize(("path", "method", "operation"), WITH_BODY, ids=names_of(WITH_BODY))
@of_each
@given(st.data())
def test_bodies_that_match_reach_the_fabric_as_they_are(path, method, operation, data):
    name = body_schema(operation)
    body = data.draw(bodies_of(name))
    validator(name).validate(body)
    answer = post(method, path, body)
    assert listed(operation, answer) == 200
    [(action, arguments)] = answer[3]
    assert action == operation["operationId"]
    assert {name: arguments[name] for name in body} == body


@pytest.mark.parametrize(("path", "method", "operation"), WITH_BODY, ids=names_of(WITH_BODY))
@of_each
@given(st.data())
def test_bodies_that_do_not_match_never_reach_it(path, method, operation, data):
    name = body_schema(operation)
    body = data.draw(nearly_bodies_of(name))
    assume(not validator(name).is_valid(body))
    answer = post(method, path, body)
    assert listed(operation, answer) == 400
    assert answer[3] == []


@pytest.mark.parametrize(("path", "method", "operation"), WITH_BODY, ids=names_of(WITH_BODY))
@of_each
@given(st.binary(max_size=60))
@example(b"[" * 60_000)
@example(b'{"a":' * 10_000)
@example(b'{"elements": "\\ud800"}')
@example(b'{"elements": "\xed\xa0\x80"}')
@example(b'{"seed": 1e400}')
@example(b'{"load": NaN}')
@example(b'{"seed": ' + b"9" * 5_000 + b"}")
@example(b'{"elements": "x", "elements": 3}')
@example(b"x" * 70_000)
def test_bytes_that_are_no_json_never_reach_it(path, method, operation, body):
    answer = post(method, path, body)
    if listed(operation, answer) != 200:
        assert answer[3] == []
        assert json.loads(answer[2])["error"]
    else:  # the schema's defaults
        validator(body_schema(operation)).validate(json.loads(body))


@pytest.mark.parametrize(("path", "method", "operation"), READING, ids=names_of(READING))
@of_each
@given(st.data())
def test_paths_and_queries_reach_the_fabric_only_as_the_document_has_them(path, method, operation, data):
    known = {one["name"]: one for one in operation.get("parameters", [])}
    word = WORD | st.just("x" * 4097)
    values = {name: data.draw(word, name) for name, one in known.items() if one["in"] == "path"}
    asked = [name for name, one in known.items() if one["in"] == "query"]
    query = data.draw(st.dictionaries(st.sampled_from([*asked, *asked, *asked, "more"]), word), "query")
    target = PLACE.sub(lambda match: values[match[1]], path)
    assume(not {"?", "\n", "/"} & set("".join(values.values())))
    status, _, _, reached = answer = request(method, f"{target}?{urlencode(query)}")
    assert listed(operation, answer) in (200, 400, 404)
    given_values = {**query, **values}
    right = all(
        jsonschema.Draft202012Validator(one["schema"]).is_valid(given_values[name])
        if name in given_values
        else not one["required"]
        for name, one in known.items()
    )
    if right and set(given_values) <= set(known):
        assert status == 200
        [(action, arguments)] = reached
        assert action == operation["operationId"]
        assert {**arguments, **given_values} == arguments
    else:
        assert status != 200
        assert reached == []


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS, ids=names_of(OPERATIONS))
@settings(max_examples=30)  # of nine methods at each path
@given(st.sampled_from(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "LIST"]), JSON)
def test_methods_that_do_not_exist_are_refused(path, method, operation, other, body):
    assume(other.lower() not in DOCUMENT["paths"][path] and other != "HEAD")
    status, _, answer, reached = post(other, PLACE.sub("s1", path), body)
    assert status == 405
    assert json.loads(answer)["error"]
    assert reached == []


@given(WORD, st.sampled_from(["GET", "POST", "DELETE"]), WORD)
@example("/api/fail\n", "GET", "")
@example("/api/fail/", "POST", "")
@example("/api//fail", "POST", "")
@example("/../setup.cfg", "GET", "")
def test_odd_paths_are_refused_in_a_line(path, method, query):
    path = path if path.startswith("/") else f"/api/{path}"
    assume("?" not in path)
    status, _, body, _ = post(method, f"{path}?{quote(query)}", {})
    assert status in {200, 400, 404, 405}
    if status != 200:
        assert json.loads(body)["error"]


@given(st.text(st.characters(max_codepoint=255, exclude_characters="\r\n"), max_size=30))
@example("http://[")
@example("http://[x]")
@example("//")
@example("http://localhost:x")
def test_odd_headers_are_refused_and_no_error(text):
    fail = next(operation for path, _, operation in OPERATIONS if path == "/api/fail")
    for name in ("origin", "host", "sec_fetch_site", "content_length", "cookie", "authorization"):
        headers = {"content_type": "application/json", name: text}
        answer = request("POST", "/api/fail", b'{"elements": "x"}', **headers)
        assert listed(fail, answer) != 500
    for token in ("", "secret"):
        headers = {"cookie": text, "last_event_id": text, "authorization": f"Bearer {token}{text}"}
        assert request("GET", "/api/stream", **headers)[0] == 200


def test_a_length_of_very_many_digits_is_refused():
    answer = request("POST", "/api/fail", b"{}", content_type="application/json", content_length="9" * 5_000)
    assert answer[0] == 413

"""Lines for contents of requests that are wrong."""

import msgspec
import pytest

from polarlab.web.actions import Elements, Nothing, TrafficRequest
from polarlab.web.wording import wording


@pytest.mark.parametrize(
    ("request_type", "body", "line"),
    [
        (TrafficRequest, b'{"load": 2}', "load must be at most 1"),
        (TrafficRequest, b'{"load": 0}', "load must be more than 0"),
        (TrafficRequest, b'{"load": "high"}', "load must be a number, got a text"),
        (TrafficRequest, b'{"seed": 1.5}', "seed must be a whole number, got a number"),
        (TrafficRequest, b'{"pattern": ""}', "pattern must not be empty"),
        (TrafficRequest, b'{"speed": 1}', "fields must be pattern, load, seed, got 'speed'"),
        (Nothing, b'{"speed": 1}', "fields must be none, got 'speed'"),
        (Elements, b"{}", "elements must be given"),
        (Elements, b'{"elements": null}', "elements must be a text, got null"),
        (Elements, b"[]", "the body must be an object, got a list"),
        (Elements, b"", 'the body must be JSON, as {"elements":"..."}'),
        (Elements, b"link:s1-s7", 'the body must be JSON, as {"elements":"..."}'),
    ],
)
def test_they_have_the_form_of_all_errors(request_type, body, line):
    with pytest.raises(msgspec.MsgspecError) as caught:
        msgspec.json.decode(body, type=request_type)
    assert wording(caught.value, request_type) == line

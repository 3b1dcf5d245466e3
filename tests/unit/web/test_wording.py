"""Lines for contents of requests that are wrong."""

import msgspec
import pytest

from polarlab.web.actions import actions
from polarlab.web.wording import wording

TRAFFIC, NOTHING, ELEMENTS = (actions()[name].request for name in ("start-traffic", "stop-traffic", "fail"))


@pytest.mark.parametrize(
    ("request_type", "body", "line"),
    [
        (TRAFFIC, b'{"load": 2}', "load must be at most 1"),
        (TRAFFIC, b'{"load": 0}', "load must be more than 0"),
        (TRAFFIC, b'{"load": "high"}', "load must be a number, got a text"),
        (TRAFFIC, b'{"seed": 1.5}', "seed must be a whole number, got a number"),
        (TRAFFIC, b'{"pattern": ""}', "pattern must not be empty"),
        (TRAFFIC, b'{"speed": 1}', "field must be one of pattern, load, seed, got 'speed'"),
        (NOTHING, b'{"speed": 1}', "field must be absent, got 'speed'"),
        (ELEMENTS, b"{}", "elements must be given"),
        (ELEMENTS, b'{"elements": null}', "elements must be a text, got null"),
        (ELEMENTS, b"[]", "the body must be an object, got a list"),
        (ELEMENTS, b"", 'the body must be JSON, such as {"elements":"..."}'),
        (ELEMENTS, b"link:s1-s7", 'the body must be JSON, such as {"elements":"..."}'),
    ],
)
def test_they_have_the_form_of_all_errors(request_type, body, line):
    with pytest.raises(msgspec.MsgspecError) as caught:
        msgspec.json.decode(body, type=request_type)
    assert wording(caught.value, request_type) == line

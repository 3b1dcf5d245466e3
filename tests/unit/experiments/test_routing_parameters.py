"""Parameters of a routing that change while the fabric is up: which there are, and their bounds."""

import pytest

from experiments.session.routing_parameters import RoutingStatus, changed_routing
from topology.errors import ParameterError, UsageError


@pytest.mark.parametrize(
    ("name", "values", "after"),
    [
        ("ugal-pf", {"threshold": "0.01"}, "ugal-pf:threshold=0.01"),
        ("ugal-pf:threshold=0.01", {"threshold": 2 / 3, "rest_returned": 4}, "ugal-pf:rest-returned=4"),
        ("ugal-pf:threshold=0.5,buckets=32", {"release": "1/4"}, None),
        ("ugal", {"threshold": "1/4"}, "ugal:threshold=0.25"),
    ],
)
def test_those_that_are_not_given_stay(name, values, after):
    assert changed_routing(name, values) == (after or "ugal-pf:threshold=0.5,release=0.25,buckets=32")


@pytest.mark.parametrize(
    ("name", "values", "error", "words"),
    [
        ("ugal-pf", {"threshold": 0}, ParameterError, "threshold must be over 0 and at most 1, got 0"),
        ("ugal-pf", {"threshold": "high"}, ParameterError, "got 'high'"),
        ("ugal-pf", {"thresholds": 1}, UsageError, "did you mean 'threshold'"),
        ("ugal-pf", {"buckets": 32}, UsageError, "buckets is part of the installed rules"),
        ("ugal-pf", {}, UsageError, "must be given, such as threshold=0.5"),
        ("min", {"threshold": 0.5}, UsageError, "min does not adapt"),
    ],
)
def test_what_cannot_change_is_told_in_a_line(name, values, error, words):
    with pytest.raises(error, match=words) as caught:
        changed_routing(name, values)
    assert "\n" not in str(caught.value)


def test_the_status_names_what_was_launched():
    text = str(RoutingStatus("ugal-pf:threshold=0.5", "ugal-pf", {"threshold": 0.5}))
    assert text.splitlines() == ["routing ugal-pf:threshold=0.5, was ugal-pf", "  threshold=0.5"]
    assert "does not adapt" in str(RoutingStatus("min", "min", {}))

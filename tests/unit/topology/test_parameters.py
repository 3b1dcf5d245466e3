"""Declared parameters: reading, checking, hints, and names with parameters."""

import pytest

from topology.errors import ParameterError, UsageError
from topology.parameters import Parameter, hint, join_parameters, split_parameters

HOSTS = Parameter(name="hosts", type=int, help="hosts that receive", least=1, most=9, default=1)
SHARE = Parameter(name="share", type=float, help="their share", above=0, most=1, default=0.5)
EXACT = Parameter(name="exact-ties", type=bool, help="whether ties are exact", default=False)
DECLARED = (HOSTS, SHARE, EXACT)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("hotspot", {}),
        ("hotspot:8", {"hosts": 8}),
        ("hotspot:8,share=0.25", {"hosts": 8, "share": 0.25}),
        ("hotspot:exact-ties=true,hosts=2", {"hosts": 2, "exact_ties": True}),
    ],
)
def test_a_name_with_parameters_is_split_and_joined_again(text, values):
    assert split_parameters(text, DECLARED) == ("hotspot", values)
    assert split_parameters(join_parameters("hotspot", values, DECLARED), DECLARED)[1] == values


def test_parameters_with_their_default_are_left_out():
    assert join_parameters("hotspot", {"hosts": 1, "share": 0.25}, DECLARED) == "hotspot:share=0.25"
    assert join_parameters("hotspot", {}, DECLARED) == "hotspot"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hotspot:hosts=10", ("1 to 9", "10")),
        ("hotspot:share=0", ("over 0 and at most 1", "0")),
        ("hotspot:share=nan", ("over 0", "nan")),
        ("hotspot:hosts=two", ("1 to 9", "'two'")),
        ("hotspot:exact-ties=1", ("true or false", "'1'")),
        ("hotspot:hsts=1", ("hosts, share, exact-ties", "did you mean 'hosts'")),
        ("hotspot:share=0.1,2", ("'2'",)),
        ("hotspot:hosts=1,hosts=2", ("once",)),
        ("hotspot:", ("''",)),
    ],
)
def test_a_wrong_parameter_is_named_with_the_right_ones(text, words):
    with pytest.raises(UsageError) as caught:
        split_parameters(text, DECLARED)
    assert all(word in str(caught.value) for word in words)


def test_a_name_without_parameters_says_so():
    with pytest.raises(UsageError, match="no parameters"):
        split_parameters("tornado:3", ())


@pytest.mark.parametrize("value", [True, 1.0, "1", None, [1]])
def test_a_value_of_another_type_is_refused(value):
    with pytest.raises(ParameterError):
        HOSTS.check(value)


def test_whole_numbers_are_numbers():
    checked = SHARE.check(1)
    assert checked == 1.0
    assert isinstance(checked, float)


def test_the_nearest_known_name_is_offered():
    assert "'tornado'" in hint("tornadoe", ["uniform", "tornado"])
    assert hint("zzz", ["uniform", "tornado"]) == ""

"""Declared parameters: reading, checking, hints, and names with parameters."""

import pytest

from topology.errors import ParameterError, UsageError
from topology.parameters import Parameter, hint, join_parameters, split_parameters

HOSTS = Parameter(name="hosts", type=int, help="hosts that receive", least=1, most=9, default=1)
SHARE = Parameter(name="share", type=float, help="their share", above=0, most=1, default=0.5)
EXACT = Parameter(name="exact-ties", type=bool, help="whether ties are exact", default=False)
FILE = Parameter(name="file", type=str, help="file of shares", file=True)
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


@pytest.mark.parametrize("path", ["demand.csv", "a=b,c:d.csv", "many, words"])
@pytest.mark.parametrize("form", ["matrix:{}", "matrix:file={}"])
def test_a_file_goes_on_to_the_end_of_the_text(form, path):
    assert split_parameters(form.format(path), (FILE,)) == ("matrix", {"file": path})


def test_the_name_of_a_file_is_not_empty():
    with pytest.raises(ParameterError, match=r"file .* got ''"):
        split_parameters("matrix:", (FILE,))


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


def test_a_fraction_is_a_number():
    third = Parameter(name="step", type=float, help="step", above=0, most=1, default=1 / 3)
    assert third.read("1/4") == 0.25
    assert join_parameters("law", {"step": third.read("1/3")}, (third,)) == "law"
    assert join_parameters("law", {"step": third.read("0.333333333333333")}, (third,)) == "law"
    for text in ("1/0", "4/3", "1/", "a/b", f"{'9' * 400}/7"):
        with pytest.raises(ParameterError, match=r"^step .* 0 .* 1, got"):
            third.read(text)


@pytest.mark.parametrize("value", [10**400, -(10**400)], ids=["large", "small"])
def test_a_whole_number_beyond_all_floats_is_outside_of_a_domain(value):
    rate = Parameter(name="rate", type=float, help="rate", above=0, most=1e6, default=1.0)
    with pytest.raises(ParameterError, match=r"^rate .* 0 .* 1000000, got"):
        rate.check(value)


@pytest.mark.parametrize("value", [True, 1.0, "1", None, [1]])
def test_a_value_of_another_type_is_refused(value):
    with pytest.raises(ParameterError):
        HOSTS.check(value)


def test_whole_numbers_are_numbers():
    checked = SHARE.check(1)
    assert checked == 1.0
    assert isinstance(checked, float)


def test_the_nearest_known_name_is_offered():
    assert "'tornado'" in hint("tornad", ["uniform", "tornado"])
    assert hint("zzz", ["uniform", "tornado"]) == ""


def test_a_declaration_describes_itself():
    assert HOSTS.described == "hosts that receive: 1 to 9 (default 1)"
    assert FILE.described == "file of shares"
    prime = Parameter(name="q", type=int, help="order", least=2, domain_text="a prime", default_text="none")
    assert prime.described == "order: a prime (default none)"


def test_a_rule_says_what_bounds_cannot():
    def odd(value):
        if value % 2 == 0:
            raise ParameterError(f"width must be odd, got {value}; nearest: {value - 1}")

    width = Parameter(name="width", type=int, help="width", least=1, most=9, rule=odd)
    assert width.check(7) == 7
    for value in (4, 10):
        with pytest.raises(ParameterError, match=f"odd, got {value}"):
            width.check(value)
    with pytest.raises(ParameterError, match="1 to 9, got 11"):
        width.check(11)


@pytest.mark.parametrize(
    ("word", "near"),
    [
        *(("h99_1", None), ("s99", None), ("h0_1", None), ("H1_1", "h1_1"), ("h1-1", "h1_1")),
        *(("nodse", "nodes"), ("x", None), ("link:s1-s9", None)),
    ],
)
def test_a_name_of_another_number_is_not_proposed(word, near):
    known = ("h1_1", "h9_1", "s1", "s9", "s10", "nodes", "link:s1-s7")
    assert hint(word, known) == (f"; did you mean {near!r}?" if near else "")


def test_a_choice_takes_no_parameters_of_its_own():
    over = Parameter(name="over", type=str, help="paths", choices=lambda: ("min", "up-down"))
    with pytest.raises(ParameterError, match=r"^over .* min, up-down, got '.*'; up-down"):
        over.read("up-down:root=5")
    with pytest.raises(ParameterError, match=r"'up-dwn'; .*'up-down'\?$"):
        over.read("up-dwn")


def test_a_value_of_another_type_is_refused_by_its_type():
    number = Parameter(name="a", type=int, help="routers", least=2, most=9)
    assert number.check(4) == 4
    with pytest.raises(ParameterError, match=r"^a .* 2 to 9, got the text '4'$"):
        number.check("4")
    with pytest.raises(ParameterError, match=r"^a .* 2 to 9, got 4\.0$"):
        number.check(4.0)

"""Options as typed keywords: in signatures, in the help of Python, and for type checkers."""

import inspect
import pydoc
import typing

import pytest
from keyword_types import keyword_types
from support.fixtures.documents import ROOT

import polarlab
from experiments.spec.experiment import keyword
from experiments.spec.options import every_option, options_of

TAKERS = {
    "run": polarlab.run,
    "sweep": polarlab.sweep,
    "failover": polarlab.failover,
    "simulate": polarlab.simulate,
    "saturation": polarlab.saturation,
    "up": polarlab.Fabric,
}


@pytest.mark.parametrize("command", TAKERS)
def test_every_option_is_a_keyword_with_a_type_and_a_line(command):
    taker = TAKERS[command]
    parameters = inspect.signature(taker).parameters
    text = inspect.getdoc(taker.__init__ if inspect.isclass(taker) else taker)
    for option in every_option(command):
        if not option.positional:
            parameter = parameters[keyword(option.name)]
            assert parameter.kind is parameter.KEYWORD_ONLY
            assert parameter.annotation is not parameter.empty
            assert text.count(f"\n    {parameter.name}: ") == 1
    assert "run_programs" in parameters


def test_types_and_defaults_are_those_of_the_options():
    found = inspect.signature(polarlab.run).parameters
    assert (found["hosts"].annotation, found["hosts"].default) == (int | None, 1)
    assert (found["load"].annotation, found["load"].default) == (float | None, 0.3)
    assert found["warmup"].annotation == float | str | None  # `steady` is a value, too
    assert found["link_rate"].default is None  # it depends on the others
    assert inspect.signature(polarlab.simulate).parameters["arrivals"].default == "bernoulli"


def test_the_help_of_python_has_them():
    shown = pydoc.plain(pydoc.render_doc(polarlab.run))
    assert "hosts: int | None = 1" in shown
    assert "hosts: hosts attached to each router" in shown


def test_traffic_has_no_keywords_of_its_fabric():
    parameters = inspect.signature(polarlab.Fabric.traffic).parameters
    assert {"load", "duration", "out", "pcap"} <= {*parameters}
    assert not {keyword(option.name) for option in options_of("up")} - {"out", "pcap"} & {*parameters}


@pytest.mark.parametrize("taker", [*TAKERS.values(), polarlab.crosscheck])
def test_what_is_given_is_an_argument_of_its_own(taker):
    bound = inspect.signature(taker).bind("polarfly", q=3, hosts=2)
    assert (bound.arguments["hosts"], bound.arguments["options"]) == (2, {"q": 3})


def test_the_types_for_type_checkers_are_those_of_the_options():
    """`make stubs` makes the file anew."""
    assert (ROOT / "polarlab" / "api" / "keyword_types.pyi").read_text() == keyword_types()


def test_types_of_functions_can_be_asked_for_while_a_program_runs():
    assert typing.get_type_hints(polarlab.saturation)["return"] is polarlab.Saturation

"""Options as keywords of Python functions: signatures and help, built from the declarations.

`keyword_types.pyi` has the same for type checkers and editors; `make stubs` generates it.
"""

from __future__ import annotations

import inspect
import os
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from experiments.spec.experiment import keyword
from experiments.spec.option import Option
from experiments.spec.options import UP, every_option, options_of, own_options
from topology.parameters import Value

# Options of a fabric that each measurement on a running fabric may set for itself.
OF_TRAFFIC = frozenset(("out", "pcap"))

_WIDTH = 100
# The entry `options` in a docstring's section Args.
_ENTRY = re.compile(r"^ {4}options: .*(?:\n {8}.*)*", re.MULTILINE)
_Function = TypeVar("_Function", bound=Callable[..., Any])


def takes_options(command: str, *, of_traffic: bool = False) -> Callable[[_Function], _Function]:
    """Adds the options that a function takes as `**options` to its signature and help.

    Args:
        command: name of the command that has the options.
        of_traffic: whether it takes only the options of traffic on a running fabric.
    """

    def add_options(function: _Function) -> _Function:
        signature = inspect.signature(function)
        *own, others = signature.parameters.values()
        options = [
            option
            for option in keyword_options(command, of_traffic=of_traffic)
            if option.key not in signature.parameters
        ]
        keywords = [
            others.replace(
                name=keyword(option.name),
                kind=others.KEYWORD_ONLY,
                default=option.default_for(command),
                annotation=type_of(option),
            )
            for option in options
        ]
        others = others.replace(annotation=Value)
        function.__annotations__[others.name] = Value
        vars(function)["__signature__"] = signature.replace(parameters=[*own, *keywords, others])
        text = "".join(f"\n{_entry(option)}" for option in options)
        function.__doc__ = _ENTRY.sub(lambda entry: entry[0] + text, inspect.getdoc(function) or "")
        return function

    return add_options


def keyword_options(command: str, *, of_traffic: bool = False) -> tuple[Option, ...]:
    """Returns the options that Python functions take as keywords, without the parameters of families.

    Args:
        command: name of the command that has the options.
        of_traffic: whether to return only options of traffic on a running fabric.
    """
    of_fabric = {option.name for option in options_of(UP)} - OF_TRAFFIC if of_traffic else ()
    options = [one for one in every_option(command) if not one.positional and one.name not in of_fabric]
    return (*options, *(option for option in own_options(command) if option.name == "run-programs"))


def type_of(option: Option) -> Any:
    """Returns the type annotation of an option as a keyword argument of Python functions."""
    kind: Any = option.type
    if option.words or option.has_units:
        kind |= str
    if option.file:
        kind |= os.PathLike[str]
    if option.repeatable:
        kind |= Sequence[str]
    if option.listed:
        kind |= float | Sequence[str | float]
    if option.keyed:
        kind |= Mapping[str, Any]
    return kind | None


def _entry(option: Option) -> str:
    """Returns an option's entry for a docstring's section Args, with any default that the signature lacks."""
    unsaid = f" (default {option.default_text})" if option.default is None and option.default_text else ""
    return textwrap.fill(
        f"{keyword(option.name)}: {option.meaning}{unsaid}",
        _WIDTH,
        initial_indent=" " * 4,
        subsequent_indent=" " * 8,
        break_long_words=False,
        break_on_hyphens=False,
    )

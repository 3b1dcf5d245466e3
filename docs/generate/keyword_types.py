"""Types of the keyword arguments of PolarLab's Python functions, for type checkers and editors.

They are generated from the command-line options.

`python docs/generate/keyword_types.py > polarlab/api/keyword_types.pyi`, or `make stubs`, regenerates them.
"""

from __future__ import annotations

import functools
import inspect
import operator
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import polarlab
from experiments.spec.experiment import keyword
from experiments.spec.option import Option
from experiments.spec.options import FAILOVER, RUN, SATURATION, SIMULATE, SWEEP, UP, family_options
from polarlab.api.keywords import keyword_options, type_of
from topology.registry import FAMILIES

_HEAD = '''\
"""Keywords of functions with options. Made by `make stubs`, for type checkers and editors alone."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, TypedDict
'''


_Entry = tuple[str, Any, str]  # an option: its name, the type of its values, and its meaning


class _Taker(NamedTuple):
    """A Python function that takes the options of a command, or only those of traffic."""

    function: Callable[..., Any]
    command: str
    of_traffic: bool = False


_TAKERS: Mapping[str, _Taker] = {
    "RunKeywords": _Taker(polarlab.run, RUN),
    "SweepKeywords": _Taker(polarlab.sweep, SWEEP),
    "FailoverKeywords": _Taker(polarlab.failover, FAILOVER),
    "SimulateKeywords": _Taker(polarlab.simulate, SIMULATE),
    "SaturationKeywords": _Taker(polarlab.saturation, SATURATION),
    "CrosscheckKeywords": _Taker(polarlab.crosscheck, RUN),
    "UpKeywords": _Taker(polarlab.Fabric.__init__, UP),
    "TrafficKeywords": _Taker(polarlab.Fabric.traffic, RUN, of_traffic=True),
}


def keyword_types() -> str:
    """Returns the text of the stub."""
    parts = [_HEAD, *_class("FamilyKeywords", "TypedDict", "Parameters of families.", _parameters())]
    for name, taker in _TAKERS.items():
        code = taker.function.__code__
        own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        options = keyword_options(taker.command, of_traffic=taker.of_traffic)
        text = f"Keywords of `{taker.function.__qualname__.removesuffix('.__init__')}`."
        base = "TypedDict" if taker.of_traffic else "FamilyKeywords"
        entries = ((o.key, type_of(o), o.help_in(taker.command)) for o in options if o.key not in own)
        parts += _class(name, base, text, entries)
    return "\n".join(parts)


def _parameters() -> Iterator[_Entry]:
    """Yields the parameters of all families; a name of several families comes once, with each meaning."""
    named: dict[str, list[tuple[str, Option]]] = {}
    for family in FAMILIES.own:
        for option in family_options(family):
            named.setdefault(option.name, []).append((family, option))
    for name, owners in named.items():
        kind = functools.reduce(operator.or_, (type_of(option) for _, option in owners))
        meanings: dict[str, list[str]] = {}
        for family, option in owners:
            meanings.setdefault(option.described, []).append(family)
        yield name, kind, "; ".join(f"{text} ({', '.join(of)})" for text, of in meanings.items())


def _class(name: str, base: str, text: str, entries: Iterable[_Entry]) -> Iterator[str]:
    """Yields the lines of a typed dictionary."""
    yield f'class {name}({base}, total=False):\n    """{text}"""\n'
    for option, kind, meaning in entries:
        shown = re.sub(r"\b(collections\.abc|os|typing)\.", "", inspect.formatannotation(kind))
        yield f'    {keyword(option)}: {shown}\n    """{meaning}"""'
    yield ""


if __name__ == "__main__":
    sys.stdout.write(keyword_types())

"""Checks of the arguments of Python functions; errors state the problem and the remedy in one line."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterator
from typing import Any

from experiments.simulation.address import Scheduler, trusted_scheduler
from experiments.spec.experiment import Experiment, keyword
from experiments.spec.options import MAX_WORKERS, option_names
from routing.plan.model import RoutePlan
from topology.base import Topology
from topology.errors import ParameterError, UsageError
from topology.plugins import naming_plugins

_OPTION = re.compile(r"(?<![\w-])--([a-z](?:[a-z-]*[a-z])?)(?![\w-])")
_EXAMPLE = "as in: "  # words in errors that introduce an example of a command line


def checked_topology(value: Any) -> Topology:
    """Returns an argument if it is a graph of PolarLab.

    Args:
        value: the argument.

    Raises:
        ParameterError: the argument is something else; the message names the function that converts it.
    """
    if isinstance(value, Topology):
        return value
    if _is_of_networkx(value):
        remedy = "; polarlab.from_networkx(graph) makes it one"
    elif isinstance(value, str):
        remedy = "; polarlab.topology(name, ...) makes one of a family"
    else:
        remedy = ""
    raise ParameterError(f"topology must be a graph of PolarLab, got {_shown(value)}{remedy}")


def checked_plan(value: Any) -> RoutePlan:
    """Returns an argument if it is a plan.

    Args:
        value: the argument.

    Raises:
        ParameterError: the argument is something else; the message names the function that makes a plan.
    """
    if isinstance(value, RoutePlan):
        return value
    graph = "polarlab.from_networkx(graph)" if _is_of_networkx(value) else "graph"
    raise ParameterError(f"plan must be a plan, got {_shown(value)}; polarlab.plan({graph}) makes one")


def checked_scheduler(
    workers: int | None, scheduler: str | None, tls: str | os.PathLike[str] | None, insecure: bool
) -> Scheduler | None:
    """Returns the scheduler of the cluster that simulates; None for local processes.

    Args:
        workers: local processes; None for one per core.
        scheduler: address of a scheduler; None for no cluster.
        tls: folder of certificates for the scheduler; None for no TLS.
        insecure: whether to trust whoever answers there, even as root.

    Raises:
        UsageError: arguments exclude each other, or the scheduler is not trusted.
        ParameterError: the number of processes is outside its domain, or the address is malformed.
    """
    if workers is not None and scheduler is not None:
        raise UsageError("--workers and --scheduler cannot be combined; leave one out")
    if workers is not None and not (type(workers) is int and 1 <= workers <= MAX_WORKERS):
        raise ParameterError(f"workers must be 1 to {MAX_WORKERS}, got {workers!r}")
    if scheduler is not None:
        return trusted_scheduler(scheduler, tls, insecure)
    for name, given in (("cluster-tls", tls is not None), ("insecure-cluster", insecure)):
        if given:
            raise UsageError(f"--{name} is for clusters; add --scheduler ADDRESS, or leave it out")
    return None


@contextlib.contextmanager
def keywords_in_errors(subject: object) -> Iterator[None]:
    """Spells options in the block's errors as in Python, `link_rate` for `--link-rate`.

    Errors of plug-ins name the plug-in.

    Args:
        subject: first argument of the Python function, such as a family or an Experiment (see `request_of`).
            Errors about an Experiment stay unchanged, as it may come from a command line.
    """
    try:
        with naming_plugins():
            yield
    except UsageError as error:
        text = str(error)
        if isinstance(subject, Experiment) or "polarlab " in text:
            raise
        message, before_example, example = text.partition(_EXAMPLE)
        name, must, rest = _OPTION.sub(lambda found: keyword(found[1]), message).partition(" must ")
        name = keyword(name) if name in option_names() else name
        changed = f"{name}{must}{rest}{before_example}{_call(example)}"
        if changed == text:
            raise
        raise type(error)(changed) from None


def _call(example: str) -> str:
    """Translates words of a command line, such as `polarfly --q 7`, to Python: `"polarfly", q=7`."""
    name, *words = shlex.split(example) or [""]
    pairs = zip(words[::2], words[1::2], strict=False)
    given = [f"{_OPTION.sub(lambda found: keyword(found[1]), option)}={_literal(v)}" for option, v in pairs]
    return ", ".join([f'"{name}"', *given]) if name else ""


def _literal(text: str) -> str:
    return text if text.isdecimal() else f'"{text}"'


def _is_of_networkx(value: Any) -> bool:
    """Returns whether a value is a graph of networkx, without importing networkx."""
    return any(kind.__module__.partition(".")[0] == "networkx" for kind in type(value).__mro__)


def _shown(value: Any) -> str:
    if _is_of_networkx(value):
        return f"a {type(value).__name__} of networkx"
    shown = value is None or isinstance(value, str | int | float | Topology)
    return repr(value) if shown else f"a {type(value).__name__}"

"""Faults of a fabric: what breaks, what comes back, and when. Pure data; `emulation.fault_injection` does it.

A fault schedule is a text of lines like

    2.0 fail link:s1-s7      # a cable is pulled
    3.5 fail hang:s4         # a switch's program dies, its links stay up
    5   restore hang:s4
    6   fail controller      # killed, without notice
    8   restore controller
    9   restore link:s1-s7

with times in seconds since traffic starts. `link:s1-s7.2` is the second of several links between two
switches, `link:s1-s7` all of them. `switch:s4` is a switch that loses its power: its links die, too.
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topology.addressing import switch_name, switch_router
from topology.base import Link, Topology
from topology.errors import ParameterError


class ElementKind(enum.Enum):
    """What can break."""

    LINK = "link"
    SWITCH = "switch"
    HANG = "hang"
    CONTROLLER = "controller"


@dataclass(frozen=True, slots=True)
class Element:
    """Something that can break.

    Attributes:
        kind: what it is.
        routers: both routers of a link, ascending; the router of a switch; none for the controller.
        copy: which of several parallel links, from 1; 0 for all links between both routers.
    """

    kind: ElementKind
    routers: tuple[int, ...] = ()
    copy: int = 0

    @property
    def name(self) -> str:
        """As in a fault schedule: `link:s1-s7`, `link:s1-s7.2`, `switch:s4`, `controller`."""
        return f"{self.kind.value}:{self.location}" if self.location else self.kind.value

    @property
    def location(self) -> str:
        """Where it is: `s1-s7`, `s1-s7.2`, `s4`; nothing for the controller."""
        switches = "-".join(map(switch_name, self.routers))
        return f"{switches}.{self.copy}" if self.copy else switches

    def covers(self, link: Link) -> bool:
        """Whether a link is among what this names."""
        if self.kind is not ElementKind.LINK:
            return bool({link.a, link.b} & set(self.routers))
        return self.routers == (link.a, link.b) and self.copy in (0, link.copy)


CONTROLLER = Element(ElementKind.CONTROLLER)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something breaks, or comes back.

    Attributes:
        time_s: when, in seconds since traffic starts.
        element: what.
        restores: whether it comes back.
    """

    time_s: float
    element: Element
    restores: bool = False

    @property
    def line(self) -> str:
        """As in a fault schedule."""
        return f"{self.time_s:g} {self}"

    def __str__(self) -> str:
        return f"{'restore' if self.restores else 'fail'} {self.element.name}"


def link_element(link: Link) -> Element:
    """Returns a link as something that can break."""
    return Element(ElementKind.LINK, (link.a, link.b), link.copy)


def parse_elements(text: str, topology: Topology, seed: int) -> tuple[Element, ...]:
    """Returns what `link:s1-s7`, `switch:s4`, `hang:s4`, `controller` or `random:3` names.

    Args:
        text: one of these; several, with commas between them, together.
        topology: the fabric's graph.
        seed: which links `random:3`, three different ones, stands for.

    Raises:
        ParameterError: the text has another form, or there is no such link or switch.
    """
    elements = [element for word in text.split(",") for element in _parse(word.strip(), topology, seed)]
    return tuple(dict.fromkeys(elements))


def _parse(word: str, topology: Topology, seed: int) -> Sequence[Element]:
    kind, _, rest = word.partition(":")
    if word == ElementKind.CONTROLLER.value:
        return [CONTROLLER]
    if kind == "random" and rest.isdecimal():
        count = int(rest)
        if not 1 <= count <= topology.links:
            raise ParameterError(f"{word}: there are {topology.links} links")
        chosen = np.random.default_rng(seed).choice(topology.links, count, replace=False)
        return [link_element(topology.link_list[index]) for index in sorted(chosen.tolist())]
    if kind in (ElementKind.SWITCH.value, ElementKind.HANG.value):
        return [Element(ElementKind(kind), (switch_router(rest, topology.routers),))]
    between, _, copy = rest.partition(".")
    ends = between.split("-")
    if kind == ElementKind.LINK.value and len(ends) == 2:
        a, b = sorted(switch_router(end, topology.routers) for end in ends)
        neighbours = topology.neighbours(a).tolist()
        if b not in neighbours:
            names = ", ".join(map(switch_name, neighbours))
            raise ParameterError(f"{word}: there is no such link; {switch_name(a)} is linked to {names}")
        if not copy:
            return [Element(ElementKind.LINK, (a, b))]
        known = neighbours.count(b)
        if not copy.isdecimal() or not 1 <= int(copy) <= known:
            raise ParameterError(
                f"{word}: there is no such link; {known} join {switch_name(a)} and {switch_name(b)}"
            )
        return [Element(ElementKind.LINK, (a, b), int(copy) if known > 1 else 0)]
    raise ParameterError(
        f"cannot break {word!r}; there are link:s1-s2, switch:s4, hang:s4, random:3 (links) and controller"
    )


def parse_schedule(text: str, topology: Topology, seed: int = 1) -> tuple[Fault, ...]:
    """Returns the faults that the lines of a fault schedule name, in order of time.

    Raises:
        ParameterError: a line has another form; names the line.
    """
    faults: list[Fault] = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            faults += _parse_line(words, topology, seed)
        except ParameterError as error:
            raise ParameterError(f"line {number}: {error}") from None
    return tuple(sorted(faults, key=lambda fault: fault.time_s))


def _parse_line(words: list[str], topology: Topology, seed: int) -> list[Fault]:
    if len(words) != 3 or words[1] not in ("fail", "restore") or not re.fullmatch(r"\d*\.?\d+", words[0]):
        said = " ".join(words)
        raise ParameterError(f"a fault is TIME fail|restore WHAT, as `2.5 fail link:s1-s2`, not {said!r}")
    time_s = float(words[0])
    if not math.isfinite(time_s) or time_s > 86_400:
        raise ParameterError(f"{words[0]} s is no time within a day")
    elements = parse_elements(words[2], topology, seed)
    return [Fault(time_s, element, words[1] == "restore") for element in elements]

"""Rules and groups that a switch has installed, and the links that its adaptive groups' buckets point at."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from dataclasses import dataclass

from emulation.subprocesses import CommandError
from experiments.live_fabric import LiveFabric
from routing.plan.model import Group, Output, SwitchPlan, ToGroup
from routing.plan.text import describe
from topology.addressing import switch_name, switch_router

_GROUP = re.compile(r"group_id=(\d+)")
_TO_GROUP = re.compile(r"group:(\d+)")
_PACKETS = re.compile(r"n_packets=(\d+)")


@dataclass(frozen=True)
class AdaptiveGroup:
    """The current state of an adaptive group of a switch.

    Attributes:
        group: its number, like `0x4001`.
        minimal: the first link of its minimal path, like `s3-s7`.
        buckets: link -> number of buckets that point at it.
    """

    group: str
    minimal: str
    buckets: dict[str, int]


@dataclass(frozen=True)
class SwitchTables:
    """Planned and installed tables of a switch.

    Attributes:
        switch: its name.
        planned_rules, planned_groups: the lines for this switch in the plan, in readable form.
        rules, groups: lines of the installed rules and groups with their counters, in Open vSwitch's syntax;
            empty if the switch does not answer.
        packets: packets that its rules have matched.
        adaptive: the current state of its adaptive groups.
    """

    switch: str
    planned_rules: tuple[str, ...]
    planned_groups: tuple[str, ...]
    rules: tuple[str, ...]
    groups: tuple[str, ...]
    packets: int
    adaptive: tuple[AdaptiveGroup, ...]


def read_switch(fabric: LiveFabric, switch: str) -> SwitchTables:
    """Returns the tables of a switch.

    Args:
        fabric: the fabric.
        switch: name of the switch.

    Raises:
        UsageError: the fabric has no such switch.
    """
    router = switch_router(switch, fabric.options.topology.routers)
    vswitch = fabric.network[switch].vswitch
    dead = vswitch is None or vswitch.daemon_killed or bool(vswitch.ended_programs())
    rules: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    with contextlib.suppress(CommandError):  # the switch is starting, or has just ended
        rules, groups = ((), ()) if dead else fabric.network.dump_tables(switch)
    plan = fabric.plan.switches[router]
    planned = describe(plan)
    return SwitchTables(
        switch,
        tuple(planned["rules"]),
        tuple(planned["groups"]),
        rules,
        groups,
        sum(int(count) for rule in rules for count in _PACKETS.findall(rule)),
        adaptive_groups(fabric, plan, groups),
    )


def adaptive_groups(
    fabric: LiveFabric, plan: SwitchPlan, lines: tuple[str, ...]
) -> tuple[AdaptiveGroup, ...]:
    """Returns the current state of the adaptive groups of a switch.

    Args:
        fabric: the fabric.
        plan: the plan of the switch.
        lines: its installed groups, in Open vSwitch's syntax.
    """
    planned = {group.number: group for group in plan.groups}
    topology, own = fabric.options.topology, switch_name(plan.router)
    ends = zip(topology.link_ports(plan.router).tolist(), topology.neighbours(plan.router), strict=True)
    links = {port: f"{own}-{switch_name(int(neighbour))}" for port, neighbour in ends}

    def link_of(number: int) -> str:
        port = _first_port(planned, number)
        return "no link" if port is None else links[port]

    found = []
    for line in lines:
        number = int(match[1]) if (match := _GROUP.search(line)) else 0
        if number in planned and planned[number].candidates:
            targets = Counter(link_of(int(target)) for target in _TO_GROUP.findall(line))
            ports = next(iter(planned[number].ports), ())
            minimal = links[ports[0]] if ports else ""
            found.append(AdaptiveGroup(f"{number:#x}", minimal, dict(targets.most_common())))
    return tuple(found)


def _first_port(planned: dict[int, Group], number: int) -> int | None:
    """Returns the port to which a group's first bucket sends, perhaps via other groups; None if no port."""
    while group := planned.get(number):
        number = -1
        for action in group.buckets[0].actions:
            if isinstance(action, Output):
                return action.port
            if isinstance(action, ToGroup):
                number = action.group
    return None

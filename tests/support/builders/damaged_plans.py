"""Damaged plans: faults that a proof must find."""

from __future__ import annotations

import random
from dataclasses import replace

from routing.plan.model import Bucket, GroupKind, RoutePlan, Table, ToGroup


def damaged(plan: RoutePlan, seed: int) -> RoutePlan:
    """Returns a plan with a fault of some kind at each of a few switches."""
    draw = random.Random(seed)
    switches = list(plan.switches)
    for router in draw.sample(range(len(switches)), 3):
        switch = switches[router]
        forwarding = [rule for rule in switch.rules if rule.table is Table.MINIMAL and rule.actions]
        victim, other = draw.sample(forwarding, 2)
        rules = set(switch.rules) - {victim}
        kind = draw.choice(["lost", "astray", "group"])
        if kind == "astray":
            rules.add(replace(victim, actions=other.actions))
        if kind == "group":
            rules.add(victim)
            adapted = [group for group in switch.groups if group.kind is GroupKind.SELECT]
            chosen = draw.choice(adapted or list(switch.groups[1:]))
            wrong = draw.choice([Bucket(()), Bucket((ToGroup(switch.groups[0].number),))])
            groups = [replace(g, buckets=(*g.buckets, wrong)) if g is chosen else g for g in switch.groups]
            switch = replace(switch, groups=tuple(groups))
        switches[router] = replace(switch, rules=tuple(rules))
    return replace(plan, switches=tuple(switches))


def unprotected(plan: RoutePlan, seed: int) -> RoutePlan:
    """Returns a plan without alternates at a third of the switches: sound while nothing has failed."""
    draw = random.Random(seed)
    switches = list(plan.switches)
    for router in draw.sample(range(len(switches)), len(switches) // 3):
        groups = [
            replace(group, buckets=group.buckets[:1]) if group.kind is GroupKind.FAST_FAILOVER else group
            for group in switches[router].groups
        ]
        switches[router] = replace(switches[router], groups=tuple(groups))
    return replace(plan, switches=tuple(switches))

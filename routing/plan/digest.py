"""A digest of plans, by which two processes check that they use the same plan."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import get_args

from routing.garbage_collection import without_garbage_collection
from routing.interner import Interner
from routing.plan.model import Action, Actions, Bucket, RoutePlan, Rule

# Nested tuples of numbers, strings, action types and None: faster to hash than dataclasses.
_Plain = tuple[object, ...]


@without_garbage_collection()
def plan_digest(plan: RoutePlan) -> str:
    """Returns a digest of all rules and groups of a fabric's switches.

    Args:
        plan: any plan.

    Returns:
        64 hexadecimal digits (SHA-256). They depend only on the values in `plan.switches` and their order,
        not on the process, its hash seed, or which objects are shared. Different values give different
        digests.
    """
    texts: list[str] = []  # of the distinct rules and buckets, by number

    def numbered(plain: _Plain) -> int:
        texts.append(_text(plain))
        return len(texts) - 1

    rules = Interner(lambda rule: numbered(_plain_rule(rule)), _plain_rule)
    buckets = Interner(lambda bucket: numbered(_plain_bucket(bucket)), _plain_bucket)
    digest = hashlib.sha256()
    for switch in plan.switches:
        groups = [
            (
                *(g.number, g.kind.value, buckets.intern(g.buckets), buckets.intern(g.candidates)),
                *(g.hops, g.ports),
                *([g.far_ports] if g.far_ports else []),
            )
            for g in switch.groups
        ]
        rule_numbers = rules.intern(switch.rules)
        content = (switch.router, rule_numbers, groups, switch.untagged_groups, switch.tagged_groups)
        digest.update(_text(content).encode())
    digest.update(_text(tuple(texts)).encode())
    return digest.hexdigest()


_text = json.JSONEncoder(default=lambda action_type: action_type.__name__, check_circular=False).encode


def _plain_rule(rule: Rule) -> _Plain:
    match = tuple((part.field, part.value, part.mask) for part in rule.match)
    goto = None if rule.goto is None else int(rule.goto)
    return int(rule.table), rule.priority, match, _plain_actions(rule.actions), goto


def _plain_bucket(bucket: Bucket) -> _Plain:
    return bucket.watch_port, bucket.weight, _plain_actions(bucket.actions)


def _plain_actions(actions: Actions) -> _Plain:
    return tuple([_TYPE_AND_VALUES[type(action)](action) for action in actions])


# Action type -> function that returns the type and the values of an action of that type.
_TYPE_AND_VALUES: dict[type[Action], Callable[[Action], object]] = {
    action: attrgetter("__class__", *(field.name for field in fields(action))) for action in get_args(Action)
}

"""Readable description of a switch's plan: one line per rule and group, in lookup order."""

from __future__ import annotations

from collections import Counter

from routing.plan.model import (
    IP_FIELDS,
    MAC_FIELDS,
    PORT_INGRESS,
    VLAN_PRESENT,
    Action,
    Bucket,
    CopyBits,
    DecrementTtl,
    FieldMatch,
    Group,
    LoadBits,
    Output,
    PopVlan,
    PushVlan,
    Rule,
    SetField,
    SwitchPlan,
    ToGroup,
)
from topology.addressing import format_ip, format_mac


def describe(switch: SwitchPlan) -> dict[str, list[str]]:
    """Describes a switch's rules and groups in text.

    Args:
        switch: the plan of the switch.

    Returns:
        `rules`: one line per rule, by table, then by descending priority; `groups`: one line per group, by
        number.
    """
    rules = sorted(switch.rules, key=lambda rule: (rule.table, -rule.priority))
    groups = sorted(switch.groups, key=lambda group: group.number)
    return {"rules": list(map(_rule, rules)), "groups": list(map(_group, groups))}


def _rule(rule: Rule) -> str:
    conditions = " ".join(map(_field, rule.match)) or "anything"
    effects = [*map(_action, rule.actions)]
    if rule.goto is not None:
        effects.append(f"to table {rule.goto} ({rule.goto.name.lower()})")
    effect = ", ".join(effects) or "drop"
    return (
        f"table {rule.table} ({rule.table.name.lower()}) priority {rule.priority}: {conditions} -> {effect}"
    )


def _group(group: Group) -> str:
    """Returns the line of a group; equal buckets are listed once, with their count."""
    counted = Counter(map(_bucket, group.buckets))
    buckets = [text if count == 1 else f"{count} x [{text}]" for text, count in counted.items()]
    line = f"group {group.number:#x} {group.kind.value}: " + " | ".join(buckets)
    others = [text for text in map(_bucket, group.candidates) if text not in counted]
    return line + (" ; the controller may choose " + " | ".join(others) if others else "")


def _bucket(bucket: Bucket) -> str:
    watch = "" if bucket.watch_port is None else f"while port {bucket.watch_port} is up: "
    return watch + ", ".join(map(_action, bucket.actions))


def _field(field: FieldMatch) -> str:
    value = _value(field.field, field.value)
    mask = "" if field.mask is None else f"/{_value(field.field, field.mask)}"
    return f"{field.field}={value}{mask}"


def _value(field: str, value: int) -> str:
    if field in IP_FIELDS:
        return format_ip(value)
    if field in MAC_FIELDS:
        return format_mac(value)
    if field == "vlan_vid":
        return f"tag {value & ~VLAN_PRESENT}" if value & VLAN_PRESENT else "none"
    return f"{value:#x}" if field == "eth_type" else str(value)


def _action(action: Action) -> str:
    match action:
        case Output(port):
            return "out of the ingress port" if port == PORT_INGRESS else f"out of port {port}"
        case ToGroup(group):
            return f"group {group:#x}"
        case SetField(field, value):
            return f"set {field} to {_value(field, value)}"
        case PushVlan():
            return "push a tag"
        case PopVlan():
            return "pop the tag"
        case DecrementTtl():
            return "TTL less 1"
        case CopyBits(source, target, _):
            return f"copy {source} to {target}"
        case LoadBits(target, offset, bits, value):
            return f"set bits {offset} to {offset + bits - 1} of {target} to {value:#x}"

"""JSON schema of experiment files, from the declarations of options."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from experiments.spec.experiment_file import VERSION, option_key
from experiments.spec.option import Option
from experiments.spec.options import KINDS, TABLES, TOPOLOGY, family_options, options_of
from topology.parameters import Value
from topology.registry import FAMILIES

_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


def schema() -> dict[str, Any]:
    """Returns the JSON schema (draft 2020-12) of experiment files; unknown keys are refused."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Experiment of PolarLab",
        "description": "Argument of `polarlab run`, `polarlab sweep` and `polarlab demo failover`.",
        "oneOf": [_kind_schema(kind) for kind in KINDS],
    }


def _kind_schema(kind: str) -> dict[str, Any]:
    declared = options_of(kind)
    tables: dict[str, Any] = {"version": {"const": VERSION}, "kind": {"const": kind}}
    for table in dict.fromkeys(option.table for option in declared):
        if table == TOPOLOGY:
            families = [_family_schema(family) for family in FAMILIES]
            tables[table] = {"title": TABLES[table].title, "oneOf": families}
        else:
            tables[table] = _object([o for o in declared if o.table == table], kind, TABLES[table].title)
    required = ["version", "kind"] + ([] if kind == "failover" else [TOPOLOGY])
    return {"title": kind, "type": "object", "properties": tables, "required": required, **_CLOSED}


_CLOSED = {"additionalProperties": False}


def _family_schema(family: str) -> dict[str, Any]:
    made = _object(family_options(family), "", f"{family}: {FAMILIES[family].summary}")
    made["properties"] = {"name": {"const": family}, **made["properties"]}
    made["required"] = ["name", *made.get("required", [])]
    return made


def _object(options: Iterable[Option], kind: str, title: str) -> dict[str, Any]:
    options = list(options)
    properties = {option_key(option): _option_schema(option, kind) for option in options}
    required = [option_key(option) for option in options if option.required]
    made: dict[str, Any] = {"title": title, "type": "object", "properties": properties, **_CLOSED}
    return {**made, "required": required} if required else made


def _option_schema(option: Option, kind: str) -> dict[str, Any]:
    value: dict[str, Any] = {"type": _TYPES[option.type]}
    if option.choices is not None:
        value["enum"] = list(option.choices())
    elif option.known is not None:
        value["examples"] = list(option.known())
    for name, bound in (
        ("minimum", option.least),
        ("maximum", option.most),
        ("exclusiveMinimum", option.above),
    ):
        if bound is not None and math.isfinite(bound):
            value[name] = bound
    if option.words:
        others = [{"enum": list(option.words)}] if option.type is not str else []
        value = {"anyOf": [value, *others]} if others else value
    if option.repeatable or option.listed:
        entry = {"type": ["string", "number"]} if option.listed else value
        table = [{"type": "object"}] if option.keyed else []
        value = {"anyOf": [value, {"type": "array", "items": entry}, *table]}
    value["description"] = option.meaning
    default: Value | None = option.default_for(kind)
    return value if default is None else {**value, "default": default}

"""JSON schema of experiment files, generated from the declarations of options."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from experiments.spec.files.experiment_file import PLUGINS, VERSION, option_key
from experiments.spec.option import Option
from experiments.spec.options import (
    EMULATION,
    ENGINE,
    ENGINES,
    FAILOVER,
    KINDS,
    SIMULATED_SWEEP,
    SIMULATION,
    SWEEP,
    TABLES,
    TOPOLOGY,
    family_options,
    option_of,
    options_of,
)
from topology.parameters import Value
from topology.registry import FAMILIES

_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}
_CLOSED = {"additionalProperties": False}
_ANY_TYPE = {"type": "object"}
_PLUGINS = {
    "title": "Plug-ins",
    "description": "plug-ins of the experiment by name, each with file or package, version and digest",
    "type": "object",
    "additionalProperties": {"type": "string"},
}


def schema() -> dict[str, Any]:
    """Returns the JSON schema (draft 2020-12) of experiment files; it rejects unknown keys.

    Keys that depend on the kind or the topology's name are in conditional branches, so that an editor
    completes and checks only by the branch that applies.
    """
    kinds = {"enum": list(KINDS), "description": "kind of the experiment: the command that runs it"}
    version = {"const": VERSION, "description": "version of the file format"}
    tables: dict[str, dict[str, Any]] = {
        name: {"title": table.title, **_ANY_TYPE} for name, table in TABLES.items()
    }
    tables[SWEEP] |= {"properties": {ENGINE: {"enum": list(ENGINES)}}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "PolarLab experiment",
        "description": "Argument of `polarlab run`, `polarlab sweep` and `polarlab demo failover`.",
        "type": "object",
        "properties": {"version": version, "kind": kinds, **tables, PLUGINS: _PLUGINS},
        "required": ["version", "kind"],
        "allOf": [_of_engine(branch) for branch in _branches()],
    }


def _branch(key: str, value: str, then: Mapping[str, Any], *, given: bool = True) -> dict[str, Any]:
    """Returns a conditional schema: if a key has a value, the schema `then` applies.

    Args:
        key: the key.
        value: its value.
        then: the schema.
        given: whether the key must be present; False for a default value, which files may leave out.
    """
    condition: dict[str, Any] = {"properties": {key: {"const": value}}}
    return {"if": {**condition, "required": [key]} if given else condition, "then": then}


def _branches() -> Iterator[dict[str, Any]]:
    """Yields a conditional schema (`_branch`) for each kind of experiment; for sweeps, one per engine."""
    for kind in KINDS:
        yield _branch("kind", kind, _kind_schema(kind, kind))
        if kind == SWEEP:
            yield _branch("kind", kind, _kind_schema(kind, SIMULATED_SWEEP))


def _of_engine(branch: dict[str, Any]) -> dict[str, Any]:
    """Adds a condition on the engine to a sweep's conditional schema; returns any other unchanged."""
    title = branch["then"]["title"]
    if title == SIMULATED_SWEEP:
        chosen = {"properties": {ENGINE: {"const": SIMULATION}}, "required": [ENGINE]}
        branch["if"]["properties"][SWEEP] = chosen
        branch["if"]["required"].append(SWEEP)
    elif title == SWEEP:
        branch["if"]["properties"][SWEEP] = {"properties": {ENGINE: {"const": EMULATION}}}
    return branch


def _kind_schema(name: str, kind: str) -> dict[str, Any]:
    """Returns the schema of experiment files of a kind.

    Args:
        name: the kind.
        kind: its name in the declarations of options.
    """
    declared = options_of(kind)
    tables: dict[str, Any] = {"version": {"const": VERSION}, "kind": {"const": name}, PLUGINS: _PLUGINS}
    for table in dict.fromkeys(option.table for option in declared):
        if table == TOPOLOGY:
            tables[table] = _topology_schema(kind)
        else:
            tables[table] = _object([o for o in declared if o.table == table], kind, TABLES[table].title)
    required = ["version", "kind"] + ([] if kind == FAILOVER else [TOPOLOGY])
    return {"title": kind, "type": "object", "properties": tables, "required": required, **_CLOSED}


def _topology_schema(kind: str) -> dict[str, Any]:
    """Returns the schema of the table `topology`; its keys depend on the named family."""
    default = option_of(TOPOLOGY, kind).default_for(kind)
    name: dict[str, Any] = {"enum": list(FAMILIES), "description": "family of the topology"}
    table: dict[str, Any] = {"title": TABLES[TOPOLOGY].title, "type": "object"}
    table["properties"] = {"name": name if default is None else {**name, "default": default}}
    if default is None:
        table["required"] = ["name"]
    table["allOf"] = [
        _branch("name", family, _family_schema(family, family == default), given=family != default)
        for family in FAMILIES
    ]
    return table


def _family_schema(family: str, default: bool) -> dict[str, Any]:
    """Returns the schema of the table `topology` for a family.

    Args:
        family: name of the family.
        default: whether the family is the default of the kind, so that its parameters have defaults, too.
    """
    table = _object(family_options(family), "", f"{family}: {FAMILIES[family].summary}")
    table["properties"] = {"name": {"const": family}, **table["properties"]}
    if default:
        table.pop("required", None)
    return table


def _object(options: Iterable[Option], kind: str, title: str) -> dict[str, Any]:
    options = list(options)
    properties = {option_key(option): _option_schema(option, kind) for option in options}
    required = [option_key(option) for option in options if option.required]
    table: dict[str, Any] = {"title": title, "type": "object", "properties": properties, **_CLOSED}
    return {**table, "required": required} if required else table


def _option_schema(option: Option, kind: str) -> dict[str, Any]:
    value = _value_schema(option)
    if option.keyed:
        keys = list(option.known() if option.known else ())
        texts = {"type": "string", "pattern": f"^\\s*({'|'.join(map(re.escape, keys))})\\s*="}
        table = {"type": "object", "propertyNames": {"enum": keys}}
        value = {"anyOf": [texts, {"type": "array", "items": texts}, table]}
    elif option.listed:
        entry: dict[str, Any] = {"type": ["string", "number"]}
        text = {"type": "string"} if option.known else entry  # a comma-separated list
        value = {"anyOf": [text, {"type": "array", "items": value if option.known else entry}]}
    elif option.repeatable:
        value = {"anyOf": [value, {"type": "array", "items": value}]}
    value["description"] = option.meaning
    default: Value | None = option.default_for(kind)
    return value if default is None else {**value, "default": default}


def _value_schema(option: Option) -> dict[str, Any]:
    """Returns the schema of one value of an option."""
    value: dict[str, Any] = {"type": _TYPES[option.type]}
    if option.choices is not None:
        value["enum"] = list(option.choices())
    elif option.known is not None and option.file:  # any file is valid, too
        value["examples"] = list(option.known())
    elif option.known is not None:
        value = _named_schema(list(option.known()))
    for name, bound in (
        ("minimum", option.least),
        ("maximum", option.most),
        ("exclusiveMinimum", option.above),
    ):
        if bound is not None and math.isfinite(bound):
            value[name] = bound
    if option.has_units:
        value |= {"type": [value["type"], "string"], "pattern": "[0-9] ?[A-Za-z]+$"}
    if not option.words:
        return value
    if option.type is str:
        return {**value, "examples": list(option.words)}
    return {"anyOf": [value, {"enum": list(option.words)}]}


def _named_schema(names: list[str]) -> dict[str, Any]:
    """Returns the schema of a text that is one of the names, alone or followed by `:` and parameters."""
    bases = dict.fromkeys(name.partition(":")[0] for name in names)
    listed = list(dict.fromkeys([*names, *bases]))
    pattern = f"^({'|'.join(map(re.escape, bases))}):."
    return {"anyOf": [{"enum": listed}, {"type": "string", "pattern": pattern}]}

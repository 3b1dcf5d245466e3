"""Reference of experiment files, made of the schema that `polarlab schema` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from markdown_text import code, plain, table

_INTRODUCTION = """\
# Keys of files

This page lists the tables and keys of [experiment files](experiments.md), from the schema that
`polarlab schema` prints. Each key is the option of the same name on the [command line](command-line.md). A
file also has `version = 1` and its `kind`."""


# Larger bounds are technical and not shown.
_MANY = 10**9


def schema_page(schema: Mapping[str, Any]) -> str:
    """Returns the page of a schema as Markdown."""
    kinds = {branch["then"]["title"]: branch["then"]["properties"] for branch in schema["allOf"]}
    parts = [_INTRODUCTION]
    names = dict.fromkeys(name for tables in kinds.values() for name in tables)
    for name in names:
        if name in ("version", "kind"):
            continue
        having = {kind: tables[name] for kind, tables in kinds.items() if name in tables}
        parts.append(f"## [{name}]")
        first = next(iter(having.values()))
        if "allOf" in first:
            parts += _families([branch["then"] for branch in first["allOf"]])
        elif "properties" in first:
            parts.append(table(("key", "type", "of", "meaning"), _rows(having)))
        else:  # of any keys
            parts.append(f"{plain(first['description'])}.")
    return "\n\n".join(parts) + "\n"


def _families(families: list[Mapping[str, Any]]) -> Iterator[str]:
    """Yields the parts of the table of topologies, each family with its parameters."""
    rows = [
        (code(family["properties"]["name"]["const"]), code(key), _type(value), plain(value["description"]))
        for family in families
        for key, value in family["properties"].items()
        if key != "name"
    ]
    yield "`name` is the family."
    yield table(("family", "key", "type", "meaning"), rows)


def _rows(having: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Yields the keys of a table, with the kinds of experiments that have them."""
    keys = dict.fromkeys(key for content in having.values() for key in content["properties"])
    for key in keys:
        kinds = [kind for kind, content in having.items() if key in content["properties"]]
        value = having[kinds[0]]["properties"][key]
        yield code(key), _type(value), ", ".join(kinds), plain(value.get("description", ""))


def _type(value: Mapping[str, Any]) -> str:
    """Returns type and domain of a key in words."""
    if "anyOf" in value:
        return " or ".join(dict.fromkeys(map(_type, value["anyOf"])))
    if "const" in value:
        return code(str(value["const"]))
    if "enum" in value:
        return ", ".join(code(str(word)) for word in value["enum"])
    kind = value.get("type", "text")
    if isinstance(kind, list):
        return " or ".join(_type({**value, "type": each}) for each in kind)
    if kind == "array":
        return f"list of {_type(value['items'])}"
    if kind == "object":
        return "table"
    if "pattern" in value:
        return "one of them with parameters"
    names = {"string": "text", "boolean": "true or false"}
    bounds = [
        f"{word} {value[name]:g}"
        for name, word in (("exclusiveMinimum", "over"), ("minimum", "from"), ("maximum", "to"))
        if kind in ("integer", "number") and abs(value.get(name, _MANY)) < _MANY
    ]
    return " ".join([names.get(kind, kind), *bounds])

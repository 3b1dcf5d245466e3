"""Files of experiments: TOML with a table for each group of options, read and written."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.spec.experiment import Experiment
from experiments.spec.option import Given, Option
from experiments.spec.options import KINDS, TOPOLOGY, options_of
from topology.errors import ParameterError, UsageError
from topology.parameters import hint
from topology.registry import family

VERSION = 1
_NAME = "name"  # of the topology in its table


def read_experiment(path: Path) -> Experiment:
    """Returns the experiment that a file describes.

    Args:
        path: the file; relative names of input files in it are relative to its folder.

    Raises:
        UsageError: the file cannot be read, is not TOML, or does not describe an experiment.
    """
    try:
        content = tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise ParameterError(
            f"{path} cannot be read ({error.strerror}); it must be an experiment's file"
        ) from None
    except UnicodeDecodeError:
        raise ParameterError(f"{path} must be a text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"{path} must be TOML: {error}") from None
    return experiment_of(content, str(path), path.parent)


def experiment_of(content: Mapping[str, Any], source: str, folder: Path) -> Experiment:
    """Returns the experiment of a file's content, as `experiment_content` gives it.

    Args:
        content: version, kind, and table -> key -> value.
        source: name of the file, for messages.
        folder: folder to which names of input files are relative.

    Raises:
        UsageError: the content does not describe an experiment.
    """
    try:
        kind = _checked_kind(content)
        values: dict[str, Any] = {}
        for table, entries in content.items():
            if table not in ("version", "kind"):
                values |= _table_values(kind, table, entries, content)
        paths = {option.name: option for option in _declared(kind, str(values.get(TOPOLOGY, "")))}
        values = {name: _at_folder(paths[name], value, folder) for name, value in values.items()}
        return Experiment(kind, values)
    except UsageError as error:
        raise type(error)(f"{source}: {error}") from None


def experiment_content(experiment: Experiment) -> dict[str, Any]:
    """Returns an experiment as version, kind, and table -> key -> value, with full paths of input files."""
    content: dict[str, Any] = {"version": VERSION, "kind": experiment.kind}
    for option in experiment.options:
        if option.name in experiment.values:
            value = _at_folder(option, experiment.values[option.name], Path.cwd())
            content.setdefault(option.table, {})[option_key(option)] = (
                list(value) if isinstance(value, tuple) else value
            )
    return content


def kept_content(experiment: Experiment) -> dict[str, Any]:
    """Returns an experiment, complete, as manifests keep it: without its output directory."""
    content = experiment_content(experiment.complete)
    output = {key: value for key, value in content.pop("output", {}).items() if key != "out"}
    return {**content, "output": output} if output else content


def experiment_text(experiment: Experiment) -> str:
    """Returns the file of an experiment.

    Raises:
        ParameterError: a name of a file is not UTF-8, which TOML cannot hold.
    """
    units = {(option.table, option_key(option)): option.unit for option in experiment.options}
    lines = []
    for name, value in experiment_content(experiment).items():
        if not isinstance(value, dict):
            lines.append(f"{name} = {_toml(value)}")
            continue
        lines += ["", f"[{name}]"]
        for key, entry in value.items():
            unit = units[name, key]
            number = isinstance(entry, int | float) and unit
            lines.append(f"{key} = {_toml(entry)}" + (f"  # {unit}" if number else ""))
    return "\n".join([*lines, ""])


def _checked_kind(content: Mapping[str, Any]) -> str:
    version, kind = content.get("version"), content.get("kind")
    if version != VERSION or isinstance(version, bool):
        got = "none" if version is None else version
        raise ParameterError(
            f"version must be {VERSION}, got {got}; another PolarLab may have written the file"
        )
    if kind not in KINDS:
        got = "none" if kind is None else repr(kind)
        raise ParameterError(f"kind must be one of {', '.join(KINDS)}, got {got}{hint(str(kind), KINDS)}")
    return str(kind)


def _table_values(kind: str, table: str, entries: Any, content: Mapping[str, Any]) -> dict[str, Any]:
    """Returns option -> value of a table, each checked."""
    tables = list(dict.fromkeys(option.table for option in options_of(kind)))
    if table not in tables:
        raise UsageError(
            f"tables of a {kind} must be {', '.join(tables)}, got [{table}]{hint(table, tables)}"
        )
    if not isinstance(entries, dict):
        raise ParameterError(f"{table} must be a table, as [{table}], got {entries!r}")
    topology = content.get(TOPOLOGY)
    name = topology.get(_NAME) if isinstance(topology, dict) else None
    declared = {option_key(o): o for o in _declared(kind, str(name or "")) if o.table == table}
    values = {}
    for key, value in entries.items():
        if key not in declared:
            raise UsageError(_unknown_key(kind, table, key, declared))
        try:
            values[declared[key].name] = declared[key].accept(value)
        except UsageError as error:
            raise type(error)(f"[{table}] {error}") from None
    return values


def _unknown_key(kind: str, table: str, key: str, declared: Mapping[str, Option]) -> str:
    place = next((o.table for o in options_of(kind) if o.name == key and o.table != table), None)
    right = f"; it belongs to [{place}]" if place else hint(key, declared)
    return f"keys of [{table}] must be {', '.join(declared)}, got {key!r}{right}"


def _declared(kind: str, name: str) -> tuple[Option, ...]:
    """Returns the options of a kind with those of a family of topologies, which must exist if it is named."""
    if name:
        family(name)
    return options_of(kind, name)


def option_key(option: Option) -> str:
    """Returns an option's key in its table; the topology's has the family's own names."""
    if option.name == TOPOLOGY:
        return _NAME
    return option.name.removeprefix(f"{TOPOLOGY}-") if option.table == TOPOLOGY else option.name


def _at_folder(option: Option, value: Given, folder: Path) -> Given:
    """Returns a value whose input file, if it names one, is relative to a folder; output stays as it is."""
    if not isinstance(value, str) or option.name == "out":
        return value
    path = option.path(value) if option.path else value if option.file else ""
    return value.removesuffix(path) + str(folder / path) if path else value


def _toml(value: Given | list[Given]) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if not isinstance(value, str):
        return repr(value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ParameterError(f"names in an experiment's file must be UTF-8, got {value!r}") from None
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

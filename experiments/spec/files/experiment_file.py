"""Files of experiments: TOML with a table for each group of options, read and written."""

from __future__ import annotations

import importlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.spec.experiment import Experiment
from experiments.spec.files.source import Source, key_lines
from experiments.spec.option import Given, Option
from experiments.spec.options import KINDS, SWEEP, TOPOLOGY, declared_kind, option_of, options_of
from experiments.spec.variations import SHORT_FORMS
from topology.errors import ParameterError, UsageError
from topology.files.foreign import Foreign, read_judged
from topology.files.reading import SETTINGS_BYTES
from topology.files.shown import quoted
from topology.parameters import hint
from topology.plugins import check_plugins, plugin_named, shortened
from topology.registry import FAMILIES, family

VERSION = 1
PLUGINS = "plugins"  # table of the names that are not PolarLab's own, each with its plug-in
_NAMING = (TOPOLOGY, "routing", "routings", "pattern", "patterns")  # options whose values name definitions
_MOST_PARTS = 16
# Python's parser takes a time that is quadratic in the parts of a key.
_LONG_KEY = rf"(?:(?:[\w-]{{1,64}}|\"[^\"\n]{{0,64}}\"|'[^'\n]{{0,64}}')[ \t]*\.[ \t]*){{{_MOST_PARTS},}}"
_MOST_REASON = 200  # characters of a reason, which may quote the file
Lines = Mapping[tuple[str, str], int]
_NAME = "name"  # of the topology in its table


def read_experiment(path: Path) -> Experiment:
    """Returns the experiment that a file describes.

    Args:
        path: the file; relative names of input files in it are relative to its folder.

    Raises:
        UsageError: the file cannot be read, is not TOML, or does not describe an experiment.
    """
    text, foreign = read_judged(path, SETTINGS_BYTES, need="it must be an experiment's file")
    experiment = experiment_of(parse_toml(text, path), str(path), path.parent, key_lines(text))
    return experiment if foreign is None else given_by(foreign, experiment)


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """Returns the content of a TOML file.

    Args:
        text: its text.
        path: the file, for errors.

    Raises:
        ParameterError: the text is not TOML.
    """
    if re.search(_LONG_KEY, text):
        raise ParameterError(
            f"{path} must have keys of a table and a name, got one of over {_MOST_PARTS} parts"
        )
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # of its grammar, of long numbers, of deep arrays
        raise ParameterError(f"{path} must be TOML: {str(error)[:_MOST_REASON]}") from None


def given_by(foreign: Foreign, experiment: Experiment) -> Experiment:
    """Returns an experiment whose values are those of another user's file."""
    source = experiment.source or Source(str(foreign.path), named=False)
    return replace(experiment, source=replace(source, foreign=foreign.of(experiment.values)))


def experiment_of(
    content: Mapping[str, Any], source: str, folder: Path, lines: Lines | None = None
) -> Experiment:
    """Returns the experiment of a file's content, as `experiment_content` gives it.

    Args:
        content: version, kind, and table -> key -> value.
        source: name of the file, for messages.
        folder: folder to which names of input files are relative.
        lines: (table, key) -> number of its line, (table, "") of the table; None of a content without lines.

    Raises:
        UsageError: the content does not describe an experiment.
    """
    try:
        checked = _checked_kind(content, lines or {})
        _check_plugins(content.get(PLUGINS, {}), lines or {})
        given_table = content.get(SWEEP)
        kind = declared_kind(checked, given_table if isinstance(given_table, Mapping) else {})
        name = _family_name(kind, content)
        if name:
            _check_family(name, lines or {})
        values: dict[str, Any] = {}
        for table, entries in content.items():
            if table not in ("version", "kind", PLUGINS):
                if table == TOPOLOGY and isinstance(entries, dict):
                    _check_named(name, lines or {})
                values |= _table_values(kind, table, entries, name, lines or {})
        _check_named(name, lines or {})
        paths = {option.name: option for option in _declared(kind, name)}
        values = {name: _at_folder(paths[name], value, folder) for name, value in values.items()}
        given = {option: (paths[option].table, option_key(paths[option])) for option in values}
        return Experiment(checked, values, None if lines is None else _source(source, given, lines))
    except UsageError as error:
        if str(error).startswith(f"{source}: "):
            raise
        raise type(error)(f"{source}: {error}") from None


def _source(name: str, given: Mapping[str, tuple[str, str]], lines: Lines) -> Source:
    """Returns the source of an experiment whose file gives options at their tables and keys."""
    found = {option: lines.get(place, lines.get((place[0], ""), 0)) for option, place in given.items()}
    return Source(name, found, {option: key for option, (_, key) in given.items()})


def _family_name(kind: str, content: Mapping[str, Any]) -> str:
    """Returns the name of the family of topologies, or the kind's default; empty without both."""
    table = content.get(TOPOLOGY)
    name = table.get(_NAME) if isinstance(table, dict) else None
    return str(option_of(TOPOLOGY, kind).default_for(kind) or "" if name is None else name)


def _check_family(name: str, lines: Lines) -> None:
    """Raises UsageError, about the key of the file, unless a family of topologies exists."""
    try:
        family(name)
    except UsageError as error:
        place = _place(lines, TOPOLOGY, _NAME)
        raise type(error)(place + str(error).removeprefix(f"{TOPOLOGY} ")) from None


def _check_named(family: str, lines: Lines) -> None:
    if not family:
        line = _line(lines, TOPOLOGY)
        raise ParameterError(f"{line}[{TOPOLOGY}] must have {_NAME}, one of {', '.join(FAMILIES)}, got none")


def experiment_content(experiment: Experiment, *, complete: bool = False) -> dict[str, Any]:
    """Returns an experiment as version, kind, and table -> key -> value, with full paths of input files.

    Args:
        experiment: the experiment.
        complete: whether options that were not given have the values of their defaults.
    """
    content: dict[str, Any] = {"version": VERSION, "kind": experiment.kind}
    values = experiment.complete_values if complete else experiment.values
    for option in experiment.options:
        if option.name in values:
            value = _at_folder(option, values[option.name], Path.cwd())
            content.setdefault(option.table, {})[option_key(option)] = (
                list(value) if isinstance(value, tuple) else value
            )
    if plugins := _plugins_of(experiment):
        content[PLUGINS] = plugins
    return content


def _plugins_of(experiment: Experiment) -> dict[str, str]:
    """Returns name -> plug-in, as text, of those definitions of an experiment that are of plug-ins."""
    texts = (str(experiment.values.get(option, "")) for option in _NAMING)
    names = {word.partition(":")[0] for text in texts for word in text.split(",")}
    found = {name: plugin_named(name) for name in sorted(names)}
    return {name: str(plugin) for name, plugin in found.items() if plugin is not None}


def _check_plugins(kept: object, lines: Lines) -> None:
    """Raises UsageError unless all names are of the plug-ins that a file says."""
    if not isinstance(kept, Mapping) or not all(isinstance(text, str) for text in kept.values()):
        raise ParameterError(
            f"{_place(lines, PLUGINS)}must be a table of names and their plug-ins, got {quoted(kept)}"
        )
    if kept:
        for module in ("routing.registry", "traffic.workload.patterns"):  # whose names are searched
            importlib.import_module(module)
        check_plugins(kept)


def check_kept(content: Mapping[str, Any] | None) -> None:
    """Raises UsageError unless this process has the plug-ins with which results were made.

    Args:
        content: the experiment of the results, as their manifest keeps it.
    """
    _check_plugins((content or {}).get(PLUGINS, {}), {})


def together(
    held: Mapping[str, Any] | None, content: Mapping[str, Any] | None, folder: Path
) -> Mapping[str, Any] | None:
    """Returns the content of an experiment that goes on in a folder, with the plug-ins of the results there.

    Args:
        held: the content of the experiment that the folder holds.
        content: that of the new one.
        folder: the folder, for errors.

    Raises:
        ParameterError: results of the folder are of another plug-in of the same name.
    """
    before, now = ((one or {}).get(PLUGINS, {}) for one in (held, content))
    for name in before.keys() & now.keys():
        if before[name] != now[name]:
            raise ParameterError(
                f"{folder} holds results of {name} of the plug-in {shortened(before[name])}, not "
                f"{shortened(now[name])}; choose another --out"
            )
    return content and {**content, **({PLUGINS: {**before, **now}} if before or now else {})}


def kept_content(experiment: Experiment) -> dict[str, Any]:
    """Returns an experiment, complete, as manifests keep it: without its output directory.

    A graph of networkx is named by its file in the folder of the manifest.
    """
    content = experiment_content(experiment, complete=True)
    if experiment.graph is not None:
        content[TOPOLOGY] = {_NAME: experiment.family, **experiment.params}
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
            unit = units.get((name, key), "")
            number = isinstance(entry, int | float) and unit
            lines.append(f"{key} = {_toml(entry)}" + (f"  # {unit}" if number else ""))
    return "\n".join([*lines, ""])


def _checked_kind(content: Mapping[str, Any], lines: Lines) -> str:
    version, kind = content.get("version"), content.get("kind")
    if version != VERSION or isinstance(version, bool):
        raise ParameterError(
            f"{_place(lines, 'version')}must be the number {VERSION}, as `version = {VERSION}`, got "
            f"{'none' if version is None else _toml(version)}; another PolarLab may have written the file"
        )
    if kind not in KINDS:
        got = "none" if kind is None else quoted(kind)
        place = _place(lines, "kind")
        raise ParameterError(f"{place}must be one of {', '.join(KINDS)}, got {got}{hint(str(kind), KINDS)}")
    return str(kind)


def _table_values(kind: str, table: str, entries: Any, name: str, lines: Lines) -> dict[str, Any]:
    """Returns option -> value of a table, each checked.

    Args:
        kind: kind of the experiment.
        table: name of the table.
        entries: key -> value.
        name: family of the topology.
        lines: as of `experiment_of`.
    """
    tables = list(dict.fromkeys(option.table for option in options_of(kind)))
    if table not in tables:
        raise UsageError(
            f"{_line(lines, table)}tables of a {kind} must be {', '.join(tables)}, got "
            f"[{table}]{hint(table, tables)}"
        )
    if not isinstance(entries, dict):
        raise ParameterError(f"{_place(lines, table)}must be a table, as [{table}], got {quoted(entries)}")
    declared = {option_key(o): o for o in _declared(kind, name) if o.table == table}
    values = {}
    for key, value in entries.items():
        if key not in declared:
            raise UsageError(_line(lines, table, key) + _unknown_key(kind, table, key, declared))
        try:
            values[declared[key].name] = declared[key].accept(value)
        except UsageError as error:
            line = lines.get((table, key))
            place = f"line {line}, {key}: " if line else f"[{table}] "
            text = str(error).replace(f"--{key}", key)
            if isinstance(value, bool):
                text = text.replace(f"got {value}", f"got {_toml(value)}")
            raise type(error)(place + (text.removeprefix(f"{key} ") if line else text)) from None
    return values


def _line(lines: Lines, table: str, key: str = "") -> str:
    """Returns the beginning of a message about a key, or a table, that has the number of its line."""
    return f"line {lines[table, key]}: " if (table, key) in lines else ""


def _place(lines: Lines, table: str, key: str = "") -> str:
    """Returns the beginning of a message about a key, or a table or key outside of tables: line and name."""
    name = key or table
    return f"{_line(lines, table, key)[:-2]}, {name}: " if (table, key) in lines else f"{name} "


def _unknown_key(kind: str, table: str, key: str, declared: Mapping[str, Option]) -> str:
    place = next((o.table for o in options_of(kind) if o.name == key and o.table != table), None)
    right = f"; it belongs to [{place}]" if place else hint(key, declared)
    if kind.startswith(SWEEP) and key in SHORT_FORMS:
        right = f"; a sweep has {SHORT_FORMS[key]} in [sweep]"
    return f"keys of [{table}] must be {', '.join(declared)}, got {quoted(key)}{right}"


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
    path = option.file_named(value)
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
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[\x7f-\x9f]", lambda one: f"\\u{ord(one[0]):04x}", text)  # a terminal may obey them

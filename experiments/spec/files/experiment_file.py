"""Reading and writing of experiment files: TOML with a table for each group of options."""

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
from experiments.spec.files.inputs import INPUTS, kept_digests
from experiments.spec.files.source import Source, key_lines
from experiments.spec.option import Given, Option
from experiments.spec.options import KINDS, SWEEP, TOPOLOGY, declared_kind, option_of, options_of
from experiments.spec.variations import SHORT_FORMS
from topology.errors import ParameterError, UsageError
from topology.files.escaping import quoted
from topology.files.foreign import Foreign, read_judged
from topology.files.reading import SETTINGS_BYTES, check_unchanged
from topology.parameters import hint, one_of
from topology.plugins import check_plugins, plugin_named, shortened
from topology.registry import FAMILIES, family

VERSION = 1
PLUGINS = "plugins"  # table: name of a topology, routing or pattern -> the plug-in that defines it
# Options whose values may name definitions of plug-ins.
_NAMING = (TOPOLOGY, "routing", "routings", "pattern", "patterns")
_MAX_PARTS = 16
# tomllib takes quadratic time in the number of parts of a dotted key.
_LONG_KEY = rf"(?:(?:[\w-]{{1,64}}|\"[^\"\n]{{0,64}}\"|'[^'\n]{{0,64}}')[ \t]*\.[ \t]*){{{_MAX_PARTS},}}"
_MAX_REASON = 200  # characters of a parser error, which may quote long parts of the file
# (table, key) -> line number in the file; key "" stands for the heading of the table.
Lines = Mapping[tuple[str, str], int]
_NAME = "name"  # key of the family in the table `topology`


def read_experiment(path: Path) -> Experiment:
    """Returns the experiment that a file describes.

    Args:
        path: the file; relative paths of input files in it are resolved against its folder.

    Raises:
        UsageError: the file cannot be read, is not TOML, or does not describe an experiment.
    """
    text, foreign = read_judged(path, SETTINGS_BYTES, need="it must be an experiment file")
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
        raise ParameterError(f"{path} must have keys of at most {_MAX_PARTS} parts, got a longer one")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # bad syntax, too long numbers, too deep arrays
        raise ParameterError(f"{path} must be TOML: {str(error)[:_MAX_REASON]}") from None


def given_by(foreign: Foreign, experiment: Experiment) -> Experiment:
    """Returns the experiment with all of its values marked as given by another user's file."""
    source = experiment.source or Source(str(foreign.path), named=False)
    return replace(experiment, source=replace(source, foreign=foreign.of(experiment.values)))


def experiment_of(
    content: Mapping[str, Any], source: str, folder: Path, lines: Lines | None = None
) -> Experiment:
    """Returns the experiment that a file's content describes; the inverse of `experiment_content`.

    Args:
        content: version, kind, and table -> key -> value.
        source: name of the file, for messages.
        folder: folder to which paths of input files are relative.
        lines: (table, key) -> line number, (table, "") -> line of the heading; None if there are no lines.

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
    """Returns an experiment's file with the line of each option, for errors.

    Args:
        name: name of the file in errors.
        given: option -> (table, key) that sets it in the file.
        lines: (table, key) -> line number.
    """
    found = {option: lines.get(place, lines.get((place[0], ""), 0)) for option, place in given.items()}
    return Source(name, found, {option: key for option, (_, key) in given.items()})


def _family_name(kind: str, content: Mapping[str, Any]) -> str:
    """Returns the topology family that a file names, or else the kind's default; empty without a default."""
    table = content.get(TOPOLOGY)
    name = table.get(_NAME) if isinstance(table, dict) else None
    return str(option_of(TOPOLOGY, kind).default_for(kind) or "" if name is None else name)


def _check_family(name: str, lines: Lines) -> None:
    """Raises UsageError with the line of the key if the topology family is unknown."""
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
    """Returns an experiment as version, kind, and table -> key -> value, with absolute paths of input files.

    Args:
        experiment: the experiment.
        complete: whether to include the defaults of options that were not given.
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
    """Returns name -> text that identifies its plug-in, for each name that comes from a plug-in."""
    texts = (str(experiment.values.get(option, "")) for option in _NAMING)
    names = {word.partition(":")[0] for text in texts for word in text.split(",")}
    found = {name: plugin_named(name) for name in sorted(names)}
    return {name: str(plugin) for name, plugin in found.items() if plugin is not None}


def _check_plugins(kept: object, lines: Lines) -> None:
    """Raises UsageError if the plug-in of a name is missing, or differs from the one that the file states."""
    if not isinstance(kept, Mapping) or not all(isinstance(text, str) for text in kept.values()):
        raise ParameterError(
            f"{_place(lines, PLUGINS)}must be a table of names and their plug-ins, got {quoted(kept)}"
        )
    if kept:
        for module in ("routing.registry", "traffic.workload.patterns"):  # importing registers their names
            importlib.import_module(module)
        check_plugins(kept)


def check_kept(content: Mapping[str, Any] | None) -> None:
    """Raises UsageError if this process lacks the plug-ins that produced some results.

    Args:
        content: experiment of the results, from their manifest.
    """
    _check_plugins((content or {}).get(PLUGINS, {}), {})


def together(
    held: Mapping[str, Any] | None, content: Mapping[str, Any] | None, folder: Path
) -> Mapping[str, Any] | None:
    """Returns an experiment's content, with the plug-ins and input files of earlier points added.

    Args:
        held: content of the experiment in the folder.
        content: content of the new experiment.
        folder: the folder, for errors.

    Raises:
        ParameterError: a plug-in or an input file has changed since the earlier points.
    """
    inputs = kept_digests(held), kept_digests(content)
    check_unchanged(inputs[1], inputs[0], f"the sweep in {folder} began", "give a new --out")
    before, now = ((one or {}).get(PLUGINS, {}) for one in (held, content))
    for name in before.keys() & now.keys():
        if before[name] != now[name]:
            raise ParameterError(
                f"{folder} has results of {name} from the plug-in {shortened(before[name])}, not "
                f"{shortened(now[name])}; give a new --out"
            )
    joined = {PLUGINS: {**before, **now}, INPUTS: {**inputs[0], **inputs[1]}}
    return content and {**content, **{table: entries for table, entries in joined.items() if entries}}


def kept_content(experiment: Experiment) -> dict[str, Any]:
    """Returns an experiment as kept in manifests: with all defaults and without its output directory.

    A networkx graph is named by its file in the folder of the manifest. The table `inputs` has the digests of
    all input files.
    """
    content = experiment_content(experiment, complete=True)
    if experiment.graph is not None:
        content[TOPOLOGY] = {_NAME: experiment.family, **experiment.params}
    output = {key: value for key, value in content.pop("output", {}).items() if key != "out"}
    own = {path for paths in experiment.input_files.values() for path in paths}
    inputs = {path: digest for path, digest in experiment.inputs.items() if path in own}
    return {**content, **({"output": output} if output else {}), **({INPUTS: inputs} if inputs else {})}


def experiment_text(experiment: Experiment) -> str:
    """Returns the text of an experiment file.

    Raises:
        ParameterError: a file name is not UTF-8, so TOML cannot represent it.
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
    """Returns option -> checked value of a table.

    Args:
        kind: kind of the experiment.
        table: name of the table.
        entries: key -> value.
        name: family of the topology.
        lines: (table, key) -> line number.
    """
    tables = list(dict.fromkeys(option.table for option in options_of(kind)))
    if table not in tables:
        raise UsageError(
            f"{_line(lines, table)}table of a {kind} must be {one_of(tables)}, got "
            f"[{table}]{hint(table, tables)}"
        )
    if not isinstance(entries, dict):
        raise ParameterError(f"{_place(lines, table)}must be a table, [{table}], got {quoted(entries)}")
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
    """Returns the start of an error's text: the line number of a key or table; empty if it is unknown."""
    return f"line {lines[table, key]}: " if (table, key) in lines else ""


def _place(lines: Lines, table: str, key: str = "") -> str:
    """Returns the start of an error's text: line number and name of a key, a table, or a top-level key."""
    name = key or table
    return f"{_line(lines, table, key)[:-2]}, {name}: " if (table, key) in lines else f"{name} "


def _unknown_key(kind: str, table: str, key: str, declared: Mapping[str, Option]) -> str:
    place = next((o.table for o in options_of(kind) if o.name == key and o.table != table), None)
    remedy = f"; it belongs in [{place}]" if place else hint(key, declared)
    if kind.startswith(SWEEP) and key in SHORT_FORMS:
        remedy = f"; a sweep has {SHORT_FORMS[key]} in [sweep]"
    return f"key of [{table}] must be {one_of(declared)}, got {quoted(key)}{remedy}"


def _declared(kind: str, name: str) -> tuple[Option, ...]:
    """Returns the options of a kind and a topology family; raises UsageError if the family is unknown."""
    if name:
        family(name)
    return options_of(kind, name)


def option_key(option: Option) -> str:
    """Returns an option's key in its table; keys of `topology` are the family's own parameter names."""
    if option.name == TOPOLOGY:
        return _NAME
    return option.name.removeprefix(f"{TOPOLOGY}-") if option.table == TOPOLOGY else option.name


def _at_folder(option: Option, value: Given, folder: Path) -> Given:
    """Returns an option's value; if it names an input file, the file's path is resolved against a folder."""
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
        raise ParameterError(f"names in an experiment file must be UTF-8, got {value!r}") from None
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[\x7f-\x9f]", lambda one: f"\\u{ord(one[0]):04x}", text)  # terminals obey C1 controls

"""Comparison of settings: every entry of the manifests, including entries unknown to this version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.codec import plain
from experiments.comparison.model import Comparison, JsonValue, ValueRow, rows_of
from experiments.spec.files.inputs import INPUTS
from experiments.spec.options import options_of

# Groups of settings whose entries are named without the group.
_SETTINGS = ("traffic", "sweep")
# Compared as a whole, since the parameters of two families have nothing in common.
_WHOLE = ("params",)
# Group of router settings: within `sweep` in simulated sweeps, at the top level in single simulations.
_ROUTERS = "routers"
# Entries about the origin of a result, sorted behind its settings.
_ORIGIN = (
    *("started", "link_rate_from", "datapath", "datapath_asked", "framework", "framework_asked", "host_root"),
    *("versions", "kernel", "machine", "format"),
)


def flat_settings(manifest: Any) -> dict[str, JsonValue]:
    """Returns all entries of a manifest by name; nested entries are named like `machine.cores`.

    Settings of traffic or sweep have no prefix, unless the manifest has an entry of the same name: then they
    are named like `traffic.seed`.

    Args:
        manifest: a dataclass, or its content in JSON types.
    """
    content = plain(manifest)
    experiment = content.pop("experiment", None) or {}
    flat: dict[str, JsonValue] = {}
    for name, value in content.items():
        if name not in _SETTINGS:
            _flatten(name, value, flat)
    own = set(flat)
    for group in _SETTINGS:
        for name, value in content.get(group, {}).items():
            if name == _ROUTERS:
                _flatten(name, value, flat)
            else:
                flat[f"{group}.{name}" if name in own else name] = value
    flat |= _options(experiment, flat)
    if INPUTS in experiment:
        flat[INPUTS] = experiment[INPUTS]
    return dict(sorted(flat.items(), key=lambda entry: entry[0].split(".")[0] in _ORIGIN))


def _options(experiment: Mapping[str, Any], flat: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Returns key -> value of an experiment's options, except those that `flat` already contains."""
    tables = {name: entries for name, entries in experiment.items() if isinstance(entries, Mapping)}
    declared = {(option.table, option.name): option for option in options_of(experiment.get("kind", ""))}
    found: dict[str, JsonValue] = {}
    for table, entries in tables.items():
        for name, value in entries.items():
            option = declared.get((table, name))
            if option and not {option.key, option.setting} & flat.keys():
                found[option.key] = value
    return found


def _flatten(name: str, value: JsonValue, flat: dict[str, JsonValue]) -> None:
    if not isinstance(value, Mapping) or name in _WHOLE:
        flat[name] = value
        return
    for key, entry in value.items():
        _flatten(f"{name}.{key}", entry, flat)


def side_by_side(
    results: Sequence[Any], settings: Sequence[Mapping[str, JsonValue]] = (), /, **tables: Any
) -> Comparison:
    """Returns a comparison with settings separated into equal and differing ones.

    Args:
        results: results of the same kind.
        settings: settings of each result by name; by default all entries of its manifest.
        tables: further attributes of the comparison.
    """
    rows = rows_of(settings or [flat_settings(one.manifest) for one in results])
    same: dict[str, JsonValue] = {}
    differing: dict[str, ValueRow] = {}
    for name, row in rows.items():
        group, _, own = name.partition(".")
        if group in _SETTINGS and row == rows.get(own):  # already included
            continue
        if all(value == row[0] for value in row):
            same[name] = row[0]
        else:
            differing[name] = row
    kind = results[0].kind.plural
    return Comparison(kind=kind, runs=_names(results), same=same, differing=differing, **tables)


def _names(results: Sequence[Any]) -> tuple[str, ...]:
    """Returns the names of the results' folders; full paths if two folders have the same name."""
    folders = [one.folder for one in results]
    short = tuple(folder.resolve().name for folder in folders)
    return short if len(set(short)) == len(short) else tuple(map(str, folders))

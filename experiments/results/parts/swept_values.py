"""Swept values, and their union with those already in a sweep's folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from experiments.spec.files.experiment_file import together
from experiments.spec.variations import swept_options
from topology.errors import ParameterError
from topology.parameters import Value

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from experiments.results.run_directory import RunDirectory
    from experiments.spec.sweep import SweepOptions
else:
    DataclassInstance = object

_OF_FAILURES = {"seed", "warmup", "duration", "cycles"}  # options on which random failures depend


class SweptSettings(DataclassInstance):
    """The settings that both kinds of sweep have: the swept values.

    Attributes:
        kind: name under which the varied options are declared: SWEEP or SIMULATED_SWEEP.
        routings, patterns, loads: swept values; points are all their combinations.
        vary: key of `--vary` -> further swept values; None if there are none.
        faults_asked: requested random failures, drawn for each point; None if there are none.
    """

    kind: ClassVar[str]

    if TYPE_CHECKING:
        routings: tuple[str, ...]
        patterns: tuple[str, ...]
        loads: tuple[float, ...]
        vary: Mapping[str, tuple[Value, ...]] | None
        faults_asked: str | None

    @property
    def varied(self) -> Mapping[str, tuple[Value, ...]]:
        """Key of `--vary` -> its values; may be empty."""
        return self.vary or {}

    def varies(self, name: str) -> bool:
        """Returns whether points of the sweep may differ in a setting.

        Args:
            name: name of a shared setting: the name of its option, perhaps with a unit as suffix.
        """
        options = swept_options(self.kind)
        names = {key.replace("-", "_") for key in self.varied}
        names |= {(options[key].setting or key).rpartition(".")[2] for key in self.varied if key in options}
        if name == "steady":
            return "warmup" in names
        if name == "faults" and self.faults_asked and names & _OF_FAILURES:
            return True
        return any(name == one or name.startswith(f"{one}_") for one in names)

    def shared(self) -> dict[str, object]:
        """Returns name -> value of the settings that all points share."""
        own = ("routings", "patterns", "loads", "vary")
        return {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name not in own}

    def difference(self, other: Self) -> str | None:
        """Returns the name of the first incompatible setting; None if points of both fit into one sweep.

        Different routings, patterns, loads and values of varied keys are compatible: they only add points.

        Args:
            other: settings of the other sweep.
        """
        mine, theirs = self.shared(), other.shared()
        fixed = sorted(name for name in mine if not self.varies(name))
        return next((name for name in fixed if mine[name] != theirs[name]), None)


def check_joins(settings: SweptSettings, fabric: Any, held: Any, folder: Path) -> None:
    """Raises ParameterError if points do not fit into the sweep in a folder.

    Args:
        settings: settings of the points.
        fabric: their fabric, with `name`, `params` and `hosts` like a manifest.
        held: manifest of the sweep in the folder.
        folder: the folder.
    """
    for name in ("name", "params", "hosts"):
        has, wants = getattr(held, name), getattr(fabric, name)
        if has != wants:
            raise _other_sweep(folder, f"with {name}", has, wants)
    both = held.sweep, settings
    if both[0].varied.keys() != both[1].varied.keys():
        varied = (", ".join(one.varied) or "only routings, patterns and loads" for one in both)
        raise _other_sweep(folder, "that varies", *varied)
    different = held.sweep.difference(settings)
    if different is not None:
        raise _other_sweep(folder, f"with {different}", *(one.shared()[different] for one in both))


def _other_sweep(folder: Path, what: str, has: object, wants: object) -> ParameterError:
    return ParameterError(f"{folder} contains a sweep {what} {has}, not {wants}; give a new --out")


def swept_values(sweep: SweepOptions) -> dict[str, Any]:
    """Returns name -> value of the settings that hold swept values and the number of replications."""
    return {
        "routings": tuple(sweep.routings),
        "patterns": tuple(sweep.patterns),
        "loads": tuple(sweep.loads),
        "repeat": sweep.repeat,
        "vary": {variation.key: variation.values for variation in sweep.vary} or None,
    }


def joined(manifest: Any, held: Any, directory: RunDirectory) -> Any:
    """Returns the manifest of a sweep that resumes in a folder, with the values of earlier points added.

    Args:
        manifest: the new manifest.
        held: manifest of the earlier points, which vary the same keys; None if there are none.
        directory: the folder, which this process has opened.

    Raises:
        ParameterError: a plug-in in the folder differs from the new one of the same name.
    """
    if held is None:
        return replace(manifest, started=directory.opened)
    sessions = tuple(dict.fromkeys((*(held.sessions or (held.started,)), directory.opened)))
    before, now = held.sweep, manifest.sweep
    vary = {key: _together(before.varied.get(key, ()), values) for key, values in now.varied.items()}
    sweep = replace(
        now,
        routings=_together(before.routings, now.routings),
        patterns=_together(before.patterns, now.patterns),
        loads=tuple(sorted({*before.loads, *now.loads})),
        vary=vary or None,
    )
    return replace(
        manifest,
        started=sessions[0],
        sweep=sweep,
        experiment=together(held.experiment, manifest.experiment, directory.path),
        sessions=sessions if len(sessions) > 1 else None,
    )


Held = TypeVar("Held", bound=Value)


def _together(held: tuple[Held, ...], new: tuple[Held, ...]) -> tuple[Held, ...]:
    return tuple(dict.fromkeys((*held, *new)))

"""Values that a sweep goes over, together with those that its folder had before."""

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

    from experiments.spec.sweep import SweepOptions
else:
    DataclassInstance = object

_OF_FAILURES = {"seed", "warmup", "duration", "cycles"}  # options by which random failures are drawn


class SweptSettings(DataclassInstance):
    """Part that the settings of all sweeps share: the values that they go over.

    Attributes:
        kind: SWEEP or SIMULATED_SWEEP, whose options vary.
        routings, patterns, loads: values that the sweep goes over, each with each.
        vary: key of `--vary` -> further values; None if there is none.
        faults_asked: random failures that are drawn for each point; None if there are none.
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
        """Key of `--vary` -> its values; empty if there is none."""
        return self.vary or {}

    def varies(self, name: str) -> bool:
        """Returns whether points of the sweep may differ in a setting.

        Args:
            name: name of one of the settings that points share, which is that of its option, with a unit
                where it has one.
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
        """Returns the settings that all points share, by name."""
        own = ("routings", "patterns", "loads", "vary")
        return {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name not in own}

    def difference(self, other: Self) -> str | None:
        """Returns the first setting, by name, that keeps points of both out of one sweep; None if none does.

        Other routings, patterns and loads, and other values of varied keys, only add points.

        Args:
            other: settings of the other sweep.
        """
        mine, theirs = self.shared(), other.shared()
        fixed = sorted(name for name in mine if not self.varies(name))
        return next((name for name in fixed if mine[name] != theirs[name]), None)


def check_joins(settings: SweptSettings, fabric: Any, held: Any, folder: Path) -> None:
    """Raises ParameterError if points do not belong to the sweep that a folder holds.

    Args:
        settings: settings of the points.
        fabric: their fabric, which has `name`, `params` and `hosts` as the manifest.
        held: manifest of the sweep.
        folder: the folder.
    """
    for name in ("name", "params", "hosts"):
        has, wants = getattr(held, name), getattr(fabric, name)
        if has != wants:
            raise _other_sweep(folder, f"with {name}", has, wants)
    both = held.sweep, settings
    if both[0].varied.keys() != both[1].varied.keys():
        varied = (", ".join(one.varied) or "routings, patterns and loads only" for one in both)
        raise _other_sweep(folder, "that varies", *varied)
    different = held.sweep.difference(settings)
    if different is not None:
        raise _other_sweep(folder, f"with {different}", *(one.shared()[different] for one in both))


def _other_sweep(folder: Path, what: str, has: object, wants: object) -> ParameterError:
    return ParameterError(f"{folder} holds a sweep {what} {has}, not {wants}; choose another --out")


def swept_values(sweep: SweepOptions) -> dict[str, Any]:
    """Returns the values that a sweep goes over, and its replications, by the names of settings."""
    return {
        "routings": tuple(sweep.routings),
        "patterns": tuple(sweep.patterns),
        "loads": tuple(sweep.loads),
        "repeat": sweep.repeat,
        "vary": {variation.key: variation.values for variation in sweep.vary} or None,
    }


def joined(manifest: Any, held: Any, folder: Path) -> Any:
    """Returns the manifest of a sweep that goes on in a folder, with the values of the points there.

    Args:
        manifest: the manifest.
        held: that of the points, which vary the same keys; None without any.
        folder: the folder, for errors.

    Raises:
        ParameterError: results of the folder are of another plug-in of the same name.
    """
    if held is None:
        return manifest
    before, now = held.sweep, manifest.sweep
    vary = {key: _together(before.varied.get(key, ()), values) for key, values in now.varied.items()}
    sweep = replace(
        now,
        routings=_together(before.routings, now.routings),
        patterns=_together(before.patterns, now.patterns),
        loads=tuple(sorted({*before.loads, *now.loads})),
        vary=vary or None,
    )
    experiment = together(held.experiment, manifest.experiment, folder)
    return replace(manifest, sweep=sweep, experiment=experiment)


Held = TypeVar("Held", bound=Value)


def _together(held: tuple[Held, ...], new: tuple[Held, ...]) -> tuple[Held, ...]:
    return tuple(dict.fromkeys((*held, *new)))

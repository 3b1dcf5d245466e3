"""Damaged folders of results, opened, compared, watched, measured again, resumed, reported and drawn."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from support.builders import result_folders
from support.builders.damaged_files import SECRET, Watch, damaged, exchanged, secret_file
from support.fixtures.foreign_folders import give_all, public_folder

import polarlab
from experiments.comparison.compare import compare
from experiments.observation.recording import read_recording
from experiments.results.parts.crosscheck import kept_crosscheck
from experiments.spec.experiment import Experiment
from experiments.spec.files.experiment_file import kept_content
from polarlab.api.requests import rerun_of

COUNT = 2_000
_DRAWN = 0.01  # share of the inputs that are drawn, which takes long


def _glance(folder: Path) -> None:
    """Opens results as a notebook does, and reads what they have."""
    results = polarlab.open_results(folder)
    repr(results)
    results._repr_html_()
    for name in ("manifest", "summary", "replications", "link_loads", "points", "events"):
        value = getattr(results, name, None)
        if name == "points" and value is not None:
            for point in list(value)[:3]:
                results.summary(point)
                results.link_loads(point)


def _resume(folder: Path) -> None:
    results = polarlab.open_results(folder)
    if hasattr(results, "points"):
        results.begun()
        results.kept()
    kept_crosscheck(folder)


def _again(folder: Path) -> None:
    rerun_of(folder).resolve()


def _plot(folder: Path) -> None:
    polarlab.plot(folder).save()


_LOOKS: tuple[Callable[[Path], object], ...] = (_glance, read_recording, _again, _resume)


def _folders(place: Path) -> list[Path]:
    """Returns right results of several kinds."""
    asked = Experiment("run", {"topology": "polarfly", "q": 3, "load": 0.5, "warmup": "steady"})
    simulated = {"q": 3, "hosts": 2, "cycles": 300, "warmup": 0}
    polarlab.simulate("polarfly", **simulated, load=0.2, out=place / "simulation")
    grid = {"loads": [0.1, 0.3], "routings": ["min"], "patterns": ["uniform"]}
    polarlab.sweep("polarfly", **simulated, **grid, engine="simulation", out=place / "simulations")
    return [
        place / "simulation",
        place / "simulations",
        result_folders.write_run(place / "run"),
        result_folders.write_run(place / "newer", experiment=kept_content(asked)),
        result_folders.write_replications(place / "runs", seeds=(1, 2)),
        result_folders.write_sweep(place / "sweep", ["min", "ugal-pf"], ["tornado"], loads=(0.2, 0.6)),
        result_folders.write_failover(place / "failover"),
    ]


def _damage(folder: Path, rng: random.Random, secret: Path) -> str:
    """Damages some files of a folder, mostly its records; returns a word for what was done."""
    words = []
    for _ in range(rng.choice([1, 1, 2])):
        files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
        records = [path for path in files if path.suffix == ".json"]
        path = rng.choice(records if records and rng.random() < 0.6 else files)
        if rng.random() < 0.1:
            exchanged(path, rng, secret)
            words.append(f"{path.name} exchanged")
            continue
        content = damaged(path.read_bytes(), rng, path.name)
        path.write_bytes(content)
        words.append(f"{path.name} {content[:2000]!r}")
    return "; ".join(words)


def attack(count: int, rng: random.Random) -> Iterator[str]:
    """Reads damaged results and yields a line for each that ended otherwise than in a result or one line."""
    watch = Watch()
    with public_folder() as place:
        secret = secret_file(place)
        right = _folders(place)
        for number in range(count):
            original = rng.choice(right)
            folder = place / f"{number}"
            shutil.copytree(original, folder)
            done = _damage(folder, rng, secret)
            for name in ("report.html", "throughput.png"):
                (folder / name).symlink_to(secret)
            give_all(folder)
            looks = [rng.choice(_LOOKS), lambda one, other=original: compare(other, one)]
            if rng.random() < _DRAWN:
                looks.append(rng.choice([_plot, polarlab.report]))
            for look in looks:
                with watch.over(f"{getattr(look, '__name__', '')} of {original.name}: {done}"):
                    look(folder)
                if watch.problem:
                    yield watch.problem
            report = folder / "report.html"
            if secret.read_text() != SECRET or (not report.is_symlink() and SECRET in report.read_text()):
                yield f"the secret was read or written: {done}"
            shutil.rmtree(folder)

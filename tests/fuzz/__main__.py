"""Generated attacks, as `make fuzz` runs them: `python tests/fuzz [--count N] [--seed N] [NAME ...]`.

Each module beside this one is an attack: `COUNT` inputs by default, made and tried by `attack(count, rng)`,
which yields a line for each that got through. One that needs switches and root says `NEEDS_SWITCHES = True`.
"""

from __future__ import annotations

import argparse
import importlib
import random
import sys
import time
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parent
MAX_SHOWN = 20


def attacks(*, need_switches: bool | None = None) -> list[str]:
    """Returns the names of the attacks: all of them, or only those that need switches or do not."""
    names = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))
    if need_switches is None:
        return names
    return [name for name in names if getattr(_module(name), "NEEDS_SWITCHES", False) == need_switches]


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"fuzz.{name}")


def run_attack(name: str, count: int | None, seed: int) -> tuple[int, list[str]]:
    """Runs an attack and returns the number of its inputs and a line for each that got through."""
    module = _module(name)
    tried = module.COUNT if count is None else count
    return tried, list(module.attack(tried, random.Random(f"{name} {seed}")))


def main() -> int:
    """Runs the attacks and prints a line for each; returns 1 if any input got through."""
    parser = argparse.ArgumentParser(prog="make fuzz")
    parser.add_argument("names", nargs="*", metavar="NAME", help="attacks to run; default: all")
    parser.add_argument("--count", type=int, help="inputs of each attack; default: each attack's own number")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    failed = False
    for name in options.names or attacks():
        start_s = time.monotonic()
        tried, through = run_attack(name, options.count, options.seed)
        print(
            f"{name}: {tried} tried, {len(through)} got through ({time.monotonic() - start_s:.0f} s)",
            flush=True,
        )
        for line in through[:MAX_SHOWN]:
            print(f"  {line}")
        failed = failed or bool(through)
    return int(failed)


if __name__ == "__main__":
    sys.path[:0] = [str(FOLDER.parent), str(FOLDER.parents[1])]
    sys.exit(main())

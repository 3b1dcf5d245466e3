"""Mutation tests: small faults put into a copy of the product; the tests named for a fault must catch it.

    python tests/mutations.py                 every mutation that unit tests catch
    python tests/mutations.py --fabric        those that only real switches show as well (root)
    python tests/mutations.py NAME ...        the ones that are named
    python tests/mutations.py --list          their names, places and tests

`mutations.toml` beside this module holds the mutations. A mutation is caught when its tests pass on the
product as it is and fail on the mutated copy. The working tree is never changed. Exit status: 0 all were
caught; 1 one was not, does not apply any more, or has tests that fail without it; 2 wrong use.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_suffix(".toml")
FABRIC_TESTS = "tests/fabric/"
TIMEOUT_S = 600
# pytest's exit statuses: https://docs.pytest.org/en/stable/reference/exit-codes.html
PASSED, FAILED = 0, 1
PYTEST = (sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header")
_LAST_LINES = 15


@dataclass(frozen=True)
class Mutation:
    """A fault that can be put into the product.

    Attributes:
        name: short name, unique.
        place: where it is put, written like a node id of pytest: `file.py::function`, `file.py::Class.method`
            or `file.py::NAME`, the last for what is assigned to that name outside functions.
        old: text that occurs exactly once at the place.
        new: text that takes its place.
        tests: pytest node ids, from the project's root, at least one of which must fail.
    """

    name: str
    place: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def file(self) -> str:
        """Path of the file from the project's root."""
        return self.place.partition("::")[0]

    @property
    def needs_fabric(self) -> bool:
        """Whether one of the tests launches real switches."""
        return any(test.startswith(FABRIC_TESTS) for test in self.tests)

    def problem(self, root: Path = ROOT) -> str | None:
        """Returns why the mutation cannot be applied to a tree; None if it can.

        Args:
            root: the tree's root folder.
        """
        if not (root / self.file).is_file():
            return f"{self.file} does not exist"
        try:
            self.mutated((root / self.file).read_text())
        except ValueError as error:
            return str(error)
        missing = [test for test in self.tests if not _exists(root, test)]
        return f"{missing[0]} does not exist" if missing else None

    def mutated(self, text: str) -> str:
        """Returns the text of the file with the fault in it.

        Args:
            text: the file as it is.

        Raises:
            ValueError: the place does not exist, or does not have the old text exactly once.
        """
        name = self.place.partition("::")[2]
        spans = _spans(text).get(name, []) if name else [(0, len(text))]
        if not spans:
            raise ValueError(f"{self.place} does not exist")
        if (times := sum(text.count(self.old, *span) for span in spans)) != 1:
            raise ValueError(f"its old text occurs {times} times in {self.place}")
        [at] = [at for span in spans if (at := text.find(self.old, *span)) >= 0]
        return text[:at] + self.new + text[at + len(self.old) :]


@cache
def _spans(text: str) -> dict[str, list[tuple[int, int]]]:
    """Returns where each qualified name of a module is defined, from which character to which.

    A name has several spans if it is defined again, as a property and its setter are.
    """
    starts = list(accumulate(map(len, text.splitlines(keepends=True)), initial=0))
    spans: dict[str, list[tuple[int, int]]] = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                name, first = child.name, min(one.lineno for one in (child, *child.decorator_list))
                if isinstance(child, ast.ClassDef):
                    visit(child, f"{prefix}{name}.")
            elif isinstance(child, ast.Assign | ast.AnnAssign):
                target = child.targets[0] if isinstance(child, ast.Assign) else child.target
                name, first = ast.unparse(target), child.lineno
            else:
                if isinstance(child, ast.stmt):  # what stands under `if` or `try`
                    visit(child, prefix)
                continue
            spans.setdefault(prefix + name, []).append((starts[first - 1], starts[child.end_lineno or first]))

    visit(ast.parse(text), "")
    return spans


def _exists(root: Path, test: str) -> bool:
    """Returns whether a tree has a test, by its node id."""
    file, _, function = test.partition("::")
    if not (root / file).is_file():
        return False
    return not function or f"def {function.partition('[')[0]}(" in (root / file).read_text()


def read_mutations(path: Path = LIST) -> tuple[Mutation, ...]:
    """Returns the mutations of a list.

    Raises:
        KeyError: an entry lacks a field.
        ValueError: the file is not TOML, or two mutations have one name.
    """
    entries = tomllib.loads(path.read_text())["mutation"]
    mutations = tuple(Mutation(**{**entry, "tests": tuple(entry["tests"])}) for entry in entries)
    if len({mutation.name for mutation in mutations}) < len(mutations):
        raise ValueError(f"{path}: two mutations have one name")
    return mutations


@dataclass(frozen=True)
class Verdict:
    """Result of one mutation: `detail` is None if it was caught, else why it was not."""

    mutation: Mutation
    seconds: float
    detail: str | None = None

    @property
    def line(self) -> str:
        """The result in one line."""
        result = "caught" if self.detail is None else f"NOT CAUGHT: {self.detail}"
        return f"{self.mutation.name:<34} {self.seconds:6.1f} s  {result}"


class Copies:
    """Copies of the project in a temporary folder, each of which one run of tests has for itself."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._free: SimpleQueue[Path] = SimpleQueue()

    def add(self, count: int) -> None:
        """Makes copies of the files that git knows, and of new ones that it would not ignore.

        Args:
            count: number of copies, at least 1.
        """
        words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
        for number in range(count):
            copy = self._folder / f"copy-{number}"
            for name in filter(None, names):
                if (ROOT / name).is_file():
                    (copy / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(ROOT / name, copy / name)
            self._free.put(copy)

    @contextmanager
    def one(self) -> Iterator[Path]:
        """Gives a copy that nobody else uses meanwhile."""
        copy = self._free.get()
        try:
            yield copy
        finally:
            self._free.put(copy)


def run_tests(copy: Path, tests: Iterable[str], *, side_by_side: bool = False) -> tuple[int | None, str]:
    """Runs tests in a copy of the project.

    Args:
        copy: root folder of the copy.
        tests: pytest node ids.
        side_by_side: whether to use all cores.

    Returns:
        pytest's exit status, None if it did not end in time; and the last lines that it printed.
    """
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    words = [*PYTEST, *(["-n", "auto"] if side_by_side else []), *tests]
    try:
        done = subprocess.run(
            words, cwd=copy, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return None, f"they did not end within {TIMEOUT_S} s"
    printed = (done.stdout + done.stderr).strip().splitlines()
    return done.returncode, "\n".join(printed[-_LAST_LINES:])


def judge(mutation: Mutation, copies: Copies) -> Verdict:
    """Returns whether the tests named for a mutation catch it."""
    began_s = time.monotonic()
    with copies.one() as copy:
        if problem := mutation.problem(copy):
            return Verdict(mutation, 0.0, f"does not apply: {problem}")
        path = copy / mutation.file
        # With its old time, so that no byte code of the mutated file is taken for that of the original.
        original, stat = path.read_bytes(), path.stat()
        path.write_text(mutation.mutated(path.read_text()))
        try:
            status, printed = run_tests(copy, mutation.tests)
        finally:
            path.write_bytes(original)
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    seconds = time.monotonic() - began_s
    # In compiled code a wrong index may end the interpreter, by a signal.
    if status == FAILED or (status is not None and status < 0):
        return Verdict(mutation, seconds)
    if status == PASSED:
        return Verdict(mutation, seconds, f"all of {', '.join(mutation.tests)} pass or are skipped")
    return Verdict(mutation, seconds, f"its tests could not be run:\n{printed}")


def tests_of(mutations: Iterable[Mutation]) -> list[str]:
    """Returns the tests of mutations, each once."""
    return list(dict.fromkeys(test for mutation in mutations for test in mutation.tests))


def judge_all(mutations: Sequence[Mutation], copies: Copies, workers: int) -> Iterator[Verdict]:
    """Yields a verdict for each mutation, or one for the first if the tests fail without any.

    Args:
        mutations: at least one.
        copies: at least as many as workers.
        workers: number of mutations judged at once; 1 for those that launch fabrics.
    """
    began_s = time.monotonic()
    with copies.one() as copy:
        status, printed = run_tests(copy, tests_of(mutations), side_by_side=workers > 1)
    if status != PASSED:
        seconds = time.monotonic() - began_s
        yield Verdict(mutations[0], seconds, f"the tests fail without any mutation:\n{printed}")
        return
    with ThreadPoolExecutor(workers) as pool:
        judge_one: Callable[[Mutation], Verdict] = lambda mutation: judge(mutation, copies)  # noqa: E731
        yield from pool.map(judge_one, mutations)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit status."""
    options = _parser().parse_args(arguments)
    every = {mutation.name: mutation for mutation in read_mutations()}
    if unknown := [name for name in options.names if name not in every]:
        print(f"mutations: there is no {unknown[0]!r}; --list has the names", file=sys.stderr)
        return 2
    chosen = [every[name] for name in options.names] or [
        mutation for mutation in every.values() if options.fabric or not mutation.needs_fabric
    ]
    if options.list:
        for mutation in chosen:
            print(f"{mutation.name:<34} {mutation.place:<70} {' '.join(mutation.tests)}")
        return 0
    verdicts = []
    with tempfile.TemporaryDirectory(prefix="polarlab-mutations-") as folder:
        copies = Copies(Path(folder))
        copies.add(options.jobs)
        for needs_fabric, workers in ((False, options.jobs), (True, 1)):
            some = [mutation for mutation in chosen if mutation.needs_fabric is needs_fabric]
            for verdict in judge_all(some, copies, workers) if some else ():
                print(verdict.line, flush=True)
                verdicts.append(verdict)
    missed = [verdict for verdict in verdicts if verdict.detail is not None]
    caught = len(verdicts) - len(missed)
    print(f"{caught} of {len(chosen)} mutations caught")
    return 0 if caught == len(chosen) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mutations", description="Checks that the tests catch faults.")
    parser.add_argument("names", metavar="NAME", nargs="*", help="mutations (default: all, see --fabric)")
    parser.add_argument("--list", action="store_true", help="print the mutations and run nothing")
    parser.add_argument("--fabric", action="store_true", help="also those whose tests launch switches (root)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="side by side (default: cores)")
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""Golden results: a small one of every kind as version 0.2.0 wrote it, and the commands that made them.

Tests open, report, compare and plot them, and find the values that 0.2.0 found (`EXPECTED`). As root,
`tests/fabric/machine.sh .venv/bin/python tests/golden.py` makes all anew in the new folder `MADE_IN`.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import polarlab
from polarlab.cli import main as entry

FOLDER = Path(__file__).parent / "data" / "golden" / "0.2.0"
INPUTS = FOLDER / "inputs"
EXPECTED = FOLDER / "expected.json"
PAPERS = "papers"  # the folder that several items share
MADE_IN = "/tmp/polarlab-golden"  # some manifests name input files there
# Entries of records that tell of the time and the machine on which they were made.
OF_THEIR_TIME = {
    "started",
    "machine",
    "kernel",
    "versions",
    "version",
    "bringup_s",
    "seconds",
    "core_seconds",
    "ended",
    "digest",  # of the code, which `kept_code.csv` translates
    "inputs",  # of experiments; newer than these results
}
_POLARLAB = str(Path(sys.executable).with_name("polarlab"))


class Golden(NamedTuple):
    """A result.

    Attributes:
        name: its folder; of a command that writes none, the file of its JSON object.
        kind: class of `polarlab` that opens it; empty if none does.
        line: the command line that made it, in a folder with the input files.
    """

    name: str
    kind: str
    line: str

    @property
    def emulated(self) -> bool:
        """Whether real packets were sent."""
        return "--link-rate" in self.line

    @property
    def words(self) -> list[str]:
        """The words of the command, which writes into the folder of the name below the working folder."""
        words = shlex.split(self.line)
        return words if self.name.endswith(".json") else [*words, "--out", self.name]


_FABRIC = "polarfly --q 2 --link-rate 1Mbit"
_SHORT = "--warmup 0.5 --duration 1"
_ROUTERS = "polarfly --q 3 --cycles 600 --warmup 200"
RESULTS = (
    Golden("run", "Run", f"run {_FABRIC} {_SHORT} --pattern tornado --load 0.3"),
    Golden("run-faults", "Run", f"run {_FABRIC} {_SHORT} --routing ugal-pf --load 0.3 --faults faults.txt"),
    Golden("run-repeated", "Run", f"run {_FABRIC} {_SHORT} --load 0.2 --repeat 2"),
    Golden(
        "collective",
        "Run",
        f"run {_FABRIC} --pattern allreduce --ranks 4 --message-bytes 4KiB,8KiB --iterations 2",
    ),
    Golden("flows", "Run", f"run {_FABRIC} {_SHORT} --flow-sizes fixed:10000 --load 0.4 --drain 3"),
    Golden("flow-file", "Run", f"run {_FABRIC} --flow-file flows.csv --drain 3"),
    Golden("programs", "Run", f"run {_FABRIC} --exec 'h1_1 ping -c 2 -i 0.2 h5_1' --exec 'h2_1 true'"),
    Golden(
        "session",
        "Run",
        f"up {_FABRIC} --exec 'fail link:s1-s5' --exec 'h1_1 ping -c 2 -i 0.2 h5_1' --exec 'restore all'"
        " --exec 'traffic start tornado 0.2' --exec 'sh sleep 0.5' --exec 'traffic stop'",
    ),
    Golden(
        "sweep",
        "Sweep",
        f"sweep {_FABRIC} {_SHORT} --routings min,ugal-pf --patterns uniform,tornado --loads 0.2,0.4",
    ),
    Golden(
        "sweep-varied",
        "Sweep",
        f"sweep {_FABRIC} {_SHORT} --routings ugal-pf --patterns tornado --loads 0.4 --vary queue=8,32"
        " --vary ugal-pf.threshold=0.3,0.5",
    ),
    Golden("failover", "Failover", "demo failover polarfly --q 2 --link-rate 10Mbit --fail link:s1-s5"),
    Golden(
        "failovers",
        "Failovers",
        "demo failover polarfly --q 2 --link-rate 10Mbit --fail random-switch --repeat 2",
    ),
    Golden("simulation", "Simulation", f"simulate {_ROUTERS} --pattern tornado --load 0.3"),
    Golden(
        "simulation-faults",
        "Simulation",
        "simulate polarfly --q 2 --cycles 800 --warmup 200 --load 0.3"
        " --faults cycles.txt --virtual-channels 8",
    ),
    Golden(
        "simulation-drop",
        "Simulation",
        f"simulate {_ROUTERS} --flow-control drop --routing ugal-pf --load 0.5",
    ),
    Golden("simulation-repeated", "Simulation", f"simulate {_ROUTERS} --load 0.3 --repeat 2"),
    Golden(
        "application",
        "Simulation",
        "simulate polarfly --q 2 --pattern allreduce --ranks 4 --message-bytes 1KiB",
    ),
    Golden("trace", "Simulation", "simulate polarfly --q 2 --trace messages.csv"),
    Golden(
        "simulated-sweep",
        "SimulatedSweep",
        f"sweep {_ROUTERS} --engine simulation --routings min,ugal-pf"
        " --patterns uniform,tornado --loads 0.2,0.9 --workers 1",
    ),
    Golden(
        "simulated-sweep-varied",
        "SimulatedSweep",
        f"sweep {_ROUTERS} --engine simulation --routings min --patterns uniform --loads 0.3 --repeat 2"
        " --vary buffer-flits=16,32 --workers 1",
    ),
    Golden("saturation.json", "", f"saturation {_ROUTERS} --precision 0.1 --json"),
    Golden("crosscheck.json", "", "crosscheck run --json"),
    Golden("crosscheck-sweep.json", "", "crosscheck sweep --json"),
    Golden(PAPERS, "", "paper polarfly fig1 --quick"),
    Golden(PAPERS, "", "paper polarfly table2 --quick"),
    Golden(PAPERS, "", "paper polarfly fig14 --quick"),
    Golden(PAPERS, "", "paper polarfly fig9 --quick --curves PF-MIN --workers 1"),
)
OPENED = tuple(golden for golden in RESULTS if golden.kind)
KINDS = tuple(dict.fromkeys(golden.kind for golden in OPENED))


def copied(folder: Path, *names: str) -> list[Path]:
    """Copies results into a folder, with the input files that they name there, and returns their folders.

    Only contents are copied: whoever runs the tests owns the copies and may write them.
    """
    for path in sorted(FOLDER.rglob("*")):
        place = path.relative_to(FOLDER)
        if place.parts[0] in (INPUTS.name, *names) and path.is_file():
            copy = folder / (path.name if place.parts[0] == INPUTS.name else place)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes().replace(MADE_IN.encode(), str(folder).encode()))
    return [folder / name for name in names]


def printed(*words: str) -> str:
    """Returns what a command prints on standard output; it runs in this process, and succeeds."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        status = entry.main(list(words))
    assert status == 0, (words, status)
    return out.getvalue()


def figures(folder: Path) -> dict[str, list[int]]:
    """Returns the number of curves in each panel of a result's figures."""
    return {name: [len(axes.lines) for axes in figure.axes] for name, figure in polarlab.plot(folder).items()}


def page(folder: Path) -> list[str]:
    """Returns the headings, cells and paragraphs of a result's report, and the names of its figures."""
    written = json.loads(printed("report", str(folder), "--json"))["report"]
    reader = _PageReader()
    reader.feed(Path(written).read_text(encoding="utf-8").replace(str(folder.parent), MADE_IN))
    return reader.texts


class _PageReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.texts.append(f"figure {dict(attrs)['alt']}")
        elif tag in ("h1", "h2", "p", "th", "td", "summary"):
            self.texts.append("")
            self._open = True

    def handle_endtag(self, tag: str) -> None:
        self._open &= tag == "wbr"

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[-1] += data


def experiment(golden: Golden, folder: Path) -> dict[str, Any]:
    """Returns the experiment of a result, as `--again` reads it."""
    command = shlex.split(golden.line)[:1]
    command += ["failover"] if command == ["demo"] else []
    text = printed(*command, "--again", str(folder), "--print-config")
    read = tomllib.loads(text.replace(str(folder.parent), MADE_IN))
    read.pop("output", None)  # a new folder, named by the time
    return read


def comparison(folders: Sequence[Path]) -> dict[str, Any]:
    """Returns the comparison of results; a single one is compared with a copy."""
    others = list(folders)
    if len(others) == 1:
        others.append(others[0].with_name("copy"))
        shutil.copytree(folders[0], others[1], copy_function=shutil.copyfile, dirs_exist_ok=True)
    found: dict[str, Any] = json.loads(printed("compare", *map(str, others), "--json"))
    return found


def rows(path: Path) -> list[dict[str, Any]]:
    """Returns the rows of a table; cells without text are None."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _cell(text) for name, text in row.items()} for row in csv.DictReader(file)]


def _cell(text: str) -> Any:
    words = {"": None, "true": True, "false": False, "yes": True, "no": False}
    if text in words:
        return words[text]
    for number in (int, float):
        with contextlib.suppress(ValueError):
            return number(text)
    return text


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def differences(found: Any, kept: Any, at: str = "", without: frozenset[str] = frozenset()) -> Iterator[str]:
    """Tells how a value differs from one that was kept; numbers may by a billionth, in texts by a thousandth.

    Args:
        found: the value: plain, or a record, whose attributes are the names of a kept mapping.
        kept: the plain value that was kept.
        at: name of the value.
        without: names of entries that may differ.
    """
    if isinstance(kept, Mapping):
        names = kept.keys() - without
        if isinstance(found, Mapping):
            found = {str(name): value for name, value in found.items()}
            yield from (f"{at}.{name} is new" for name in sorted(found.keys() - names - without))
        else:
            found = {name: getattr(found, name) for name in names if hasattr(found, name)}
        for name in sorted(names):
            if name in found:
                yield from differences(found[name], kept[name], f"{at}.{name}", without)
            else:
                yield f"{at}.{name} is missing"
    elif isinstance(kept, list):
        if not isinstance(found, list | tuple) or len(found) != len(kept):
            yield f"{at} is {found!r}, was {kept!r}"
            return
        for place, (one, other) in enumerate(zip(found, kept, strict=True)):
            yield from differences(one, other, f"{at}[{place}]", without)
    elif not _equal(found, kept):
        yield f"{at} is {found!r}, was {kept!r}"


def _equal(found: Any, kept: Any) -> bool:
    if isinstance(kept, bool) or isinstance(found, bool):
        return found is kept
    if isinstance(kept, float) or isinstance(found, float):
        return isinstance(found, int | float) and isinstance(kept, int | float) and _close(found, kept, 1e-9)
    if isinstance(kept, str) and isinstance(found, str) and found != kept:
        numbers = [list(map(float, _NUMBER.findall(text))) for text in (found, kept)]
        return _NUMBER.sub("#", found) == _NUMBER.sub("#", kept) and all(
            _close(one, other, 1e-3) for one, other in zip(*numbers, strict=True)
        )
    return bool(found == kept)


def _close(one: float, other: float, relative: float) -> bool:
    return math.isclose(one, other, rel_tol=relative, abs_tol=1e-12)


def files(folder: Path) -> list[str]:
    """Returns the names of all files in a folder."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def changed_files(folder: Path, before: Path) -> list[str]:
    """Tells how tables and records differ from those before, apart from what is of their time.

    Args:
        folder: folder of results.
        before: folder of the same results, of which the names of all files and columns stay.
    """
    told = []
    for name in files(before):
        if not (folder / name).exists():
            told.append(f"{name} is missing")
        elif name.endswith((".csv", ".json")):
            read = _sorted_rows if name.endswith(".csv") else _record
            told += differences(read(folder / name), read(before / name), name, OF_THEIR_TIME)
    return told


def _sorted_rows(path: Path) -> list[dict[str, Any]]:
    """Returns the rows of a table; those of papers come in the order of their digests."""
    return sorted(rows(path), key=lambda row: [str(row[name]) for name in row if name not in OF_THEIR_TIME])


def _record(path: Path) -> Any:
    """Returns a record; its input files are those beside its folder."""
    return json.loads(path.read_text(encoding="utf-8").replace(str(path.parents[1]), MADE_IN))


def make(folder: Path) -> None:
    """Makes the results that a folder lacks."""
    shutil.copytree(INPUTS, folder, dirs_exist_ok=True)
    for golden in RESULTS:
        if (folder / golden.name).exists() and golden.name != PAPERS:
            continue
        print("making", golden.name, file=sys.stderr)
        done = subprocess.run([_POLARLAB, *golden.words], cwd=folder, check=False, stdout=subprocess.PIPE)
        if done.returncode != 0:
            shutil.rmtree(folder / golden.name, ignore_errors=True)
            raise SystemExit(
                f"{golden.name} failed, as it may on a busy machine; the same again makes the rest"
            )
        if golden.name.endswith(".json"):
            (folder / golden.name).write_bytes(done.stdout)


def expected(folder: Path) -> dict[str, Any]:
    """Returns what this code finds in all results, for `EXPECTED`; writes figures and reports beside them."""
    return {
        "experiments": {
            golden.name: experiment(golden, folder / golden.name)
            for golden in OPENED
            if golden.name != "session"
        },
        "figures": {golden.name: figures(folder / golden.name) for golden in OPENED}
        | {PAPERS: figures(folder / PAPERS)},
        "comparisons": {
            kind: comparison([folder / golden.name for golden in OPENED if golden.kind == kind])
            for kind in KINDS
        },
        "pages": {golden.name: page(folder / golden.name) for golden in OPENED},
    }


def main() -> None:
    """Makes all results, and what is expected of them; removes figures and reports, which nobody reads."""
    folder = Path(MADE_IN)
    make(folder)
    found = expected(folder)
    shutil.rmtree(folder / "copy")
    drawn = [path for path in folder.rglob("*") if path.suffix in (".png", ".svg", ".html")]
    for path in (*drawn, *(folder / given.name for given in INPUTS.iterdir())):
        path.unlink()
    found["files"] = {name: files(folder / name) for name in (*(golden.name for golden in OPENED), PAPERS)}
    (folder / EXPECTED.name).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

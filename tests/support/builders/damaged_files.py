"""Damage to files, and a watch over what reads them: status, time, memory."""

from __future__ import annotations

import copy
import csv
import io
import json
import os
import random
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from support.fixtures.alarms import TooLong, no_longer_than

from topology.errors import Status, known_status

SECRET = "only-root-knows-1f0c"
LONGEST_S = 20  # of an input, on a machine that is busy otherwise
MAX_TEXT = 2_000  # characters of an error
MAX_GROWTH_KIB = 700 << 10
ODD_TEXTS = (
    *("", " ", "nan", "inf", "-inf", "1e400", "-1", "0", "1", "2", "1e300", "9" * 5000, "1_0", "٣", "true"),
    *(
        "\x1b]0;title\x07\x9b31m",
        "\u202e",
        "../../../etc/shadow",
        "/etc/shadow",
        "a" * 3000,
        "\0",
        "é\n\r",
        "=1",
    ),
    *(
        "h1_1",
        "s1-s2",
        "polarfly",
        "min:x=1",
        "<script>",
        "%s{0}",
        "'\"\\",
        "\ud800".encode(errors="replace").decode(),
    ),
)
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 2, -1, 3.5, -0.0, 1e308, 10**25, 10**400, 2**63, 2**31, 10**9, [], {}, [[]]),
    *([1] * 50, {"a": {"b": []}}, [None], {"1": 1}, [{"x": None}], float("nan"), float("inf")),
)


def damaged(content: bytes, rng: random.Random, name: str) -> bytes:
    """Returns the content of a file with damage of some kind, which often fits the kind of the file."""
    kinds = [_flipped, _cut, _spliced, _encoded, _odd_bytes]
    if name.endswith(".json"):
        kinds += [_changed_json] * 12
    elif name.endswith((".csv", ".txt", ".edges", ".adjlist")):
        kinds += [_changed_cells] * 10
    return rng.choice(kinds)(content, rng)


def _flipped(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.randint(1, 8)):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randint(0, len(content))]


def _spliced(content: bytes, rng: random.Random) -> bytes:
    """Repeats, removes or moves a piece."""
    begin = rng.randint(0, len(content))
    end = min(len(content), begin + rng.randint(0, 200))
    piece = content[begin:end]
    return content[:begin] + piece * rng.choice([0, 2, 3, 100]) + content[end:]


def _encoded(content: bytes, rng: random.Random) -> bytes:
    text = content.decode(errors="replace")
    mark = rng.choice(["", "\ufeff", "\ufeff\ufeff"])
    return (mark + text).encode(
        rng.choice(["utf-16", "utf-16-le", "utf-8", "latin-1", "utf-32", "cp037"]), "replace"
    )


def _odd_bytes(_content: bytes, rng: random.Random) -> bytes:
    depth = rng.choice([10, 1_000, 100_000])
    return rng.choice(
        [
            b"",
            b"\n" * 5_000,
            b"[" * depth,
            b"[" * depth + b"]" * depth,
            b'{"a":' * depth + b"1" + b"}" * depth,
            b"null",
            b"\0" * 100,
            b"," * 10_000,
            b'"' * 999,
            b"9" * 10_000,
            b"a = " + b"[" * depth,
            rng.randbytes(rng.randint(1, 2_000)),
        ]
    )


def _changed_json(content: bytes, rng: random.Random) -> bytes:
    """Gives some values of an object, at any depth, other values, names or places."""
    try:
        tree = json.loads(content)
    except (ValueError, RecursionError):
        return content
    for _ in range(rng.randint(1, 3)):
        _change(tree, rng)
    text = json.dumps(tree)
    if rng.random() < 0.05:
        text = text.replace("1", "9" * 5_000, 1)
    return text.encode()


def _change(tree: Any, rng: random.Random) -> None:
    while True:
        keys = (
            list(tree) if isinstance(tree, dict) else list(range(len(tree))) if isinstance(tree, list) else []
        )
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(tree[key], dict | list) and tree[key] and rng.random() < 0.85:
            tree = tree[key]
            continue
        kind = rng.random()
        if kind < 0.15:
            del tree[key]
        elif kind < 0.25 and isinstance(tree, dict):
            tree[rng.choice(ODD_TEXTS)] = tree.pop(key)
        elif kind < 0.6:
            tree[key] = copy.deepcopy(rng.choice(ODD_VALUES))  # later damage changes lists
        elif kind < 0.8:
            tree[key] = rng.choice(ODD_TEXTS)
        elif isinstance(tree[key], int | float):
            with suppress(OverflowError):  # numbers that are changed again and again grow too long for floats
                tree[key] *= rng.choice([-1, 0, 1e-9, 1000, 10**9, 1e300])
        else:
            tree[key] = [tree[key]] * rng.choice([1, 2, 1000])
        return


def _changed_cells(content: bytes, rng: random.Random) -> bytes:
    """Changes cells, rows and columns of a table."""
    plain = content.decode(errors="replace").replace("\0", "").replace("\r", "\n")
    try:
        rows = list(csv.reader(io.StringIO(plain)))
    except csv.Error:
        return content
    for _ in range(rng.randint(1, 4)):
        if not rows:
            break
        number = rng.choice([0, rng.randrange(len(rows)), len(rows) - 1])
        row, kind = rows[number], rng.random()
        if kind < 0.5 and row:
            row[rng.randrange(len(row))] = rng.choice(ODD_TEXTS)
        elif kind < 0.6:
            rows.insert(number, list(row))
        elif kind < 0.7:
            del rows[number]
        elif kind < 0.8 and row:
            del row[rng.randrange(len(row))]
        elif kind < 0.9:
            row.append(rng.choice(ODD_TEXTS))
        else:
            rng.shuffle(rows)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode(errors="replace")


def exchanged(path: Path, rng: random.Random, secret: Path) -> None:
    """Puts something else than a file at a file's place: FIFO, folder, device, link, nothing."""
    path.unlink()
    kind = rng.choice(["fifo", "folder", "device", "secret", "loop", "nothing"])
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind != "nothing":
        path.symlink_to({"device": "/dev/zero", "secret": secret, "loop": path.name}[kind])


def secret_file(folder: Path) -> Path:
    """Returns a new file that only root may read."""
    path = folder / "secret"
    path.write_text(SECRET)
    path.chmod(0o600)
    return path


class Watch:
    """Watch over the reading of inputs; `problem` is what was wrong about the last."""

    def __init__(self) -> None:
        self.problem = ""

    @contextmanager
    def over(self, what: str) -> Iterator[None]:
        """Notes an internal error, a leak of the secret, too long a time, or too much memory in the block."""
        self.problem = ""
        before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            with no_longer_than(LONGEST_S):
                yield
        except TooLong as error:
            self.problem = f"{what}: {error}"
        except Exception as error:  # the outermost boundary of an input
            known = known_status(error)
            if known is None or known[0] is Status.INTERNAL:
                self.problem = f"{what}: {type(error).__name__}: {str(error)[:200]}"
            elif SECRET in known[1]:
                self.problem = f"{what}: quotes a secret"
            elif len(known[1]) > MAX_TEXT:
                self.problem = f"{what}: an error of {len(known[1])} characters: {known[1][:200]!r}"
        if (
            not self.problem
            and resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > before_kib + MAX_GROWTH_KIB
        ):
            self.problem = f"{what}: took over {MAX_GROWTH_KIB >> 10} MiB"

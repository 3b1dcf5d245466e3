"""Common ground of the attacks on the live page: a fabric, a secret of root's, and hostile values."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import secrets
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import psutil

import polarlab
from experiments.spec.options import RUN, option_of
from polarlab.api.verb import Verb
from polarlab.web.actions import actions
from polarlab.web.events import PageTrouble
from traffic.workload.collectives.registry import COLLECTIVES
from traffic.workload.patterns import PATTERNS

# Memory in use is counted by the interpreter; what the process has of the kernel grows by fragmentation, too.
_MOST_MORE_BLOCKS = 200_000
_MOST_MORE_BYTES = 512 << 20
_MOST_MORE_THREADS = 6
_FIELDS = sorted({name for action in actions().values() for name in action.request.__struct_fields__})
_FOREIGN = (
    "exec",
    "exec_file",
    "out",
    "flow_sizes",
    "flow-file",
    "faults",
    "pcap",
    "self",
    "number",
    "__class__",
    "",
)
_RIGHT: dict[str, list[Any]] = {
    "elements": ["link:s1-s6", "switch:s4", "hang:s2", "controller", "all", "random:2", "s3"],
    "pattern": ["uniform", "tornado", "hotspot:hosts=2,share=0.5", "shift:by=3", "allreduce:ring"],
    "message_bytes": ["64KiB", "1MiB,2MiB"],
    "parameters": ["threshold=0.5", "threshold=0.5,release=0.2"],
    "switch": ["s1", "s7"],
    "link": ["s1-s6", "s1-h1_1"],
    "source": ["s1", "h1_1"],
    "destination": ["s2", "h5_1"],
    "without": ["", "link:s1-s6"],
    "name": ["run", ".."],
}
# A right request of these takes too long for an attack of thousands: something is always wrong.
_LONG = ("measure", "measure-collective", "start-traffic")


class Ground:
    """A fabric with its page, and what those who attack it must not get at.

    Attributes:
        fabric: the fabric.
        rng: source of all choices.
    """

    def __init__(self, fabric: polarlab.Fabric, rng: random.Random, folder: Path) -> None:
        self.fabric, self.rng, self._folder = fabric, rng, folder
        self._troubles: list[PageTrouble] = []
        fabric.progress = lambda event: (
            self._troubles.append(event) if isinstance(event, PageTrouble) else None
        )
        self._secret = f"root-only-{secrets.token_hex(8)}"
        self._mark = folder / "mark"
        (folder / "secret").write_text(f"{self._secret},h2_1,1\n")
        (folder / "secret").chmod(0o600)
        os.mkfifo(folder / "fifo")
        self._memory, self._threads = psutil.Process().memory_info().rss, threading.active_count()
        self._blocks = sys.getallocatedblocks()

    def lost(self, answer: bytes | str) -> str:
        """Returns what an attack has got, in words; empty for nothing."""
        if self._secret in (answer if isinstance(answer, str) else answer.decode("latin-1")):
            return "a file was read"
        if self._mark.exists():
            self._mark.unlink()
            return "a file was written, or a command was run"
        if (self._folder / "results").exists():
            return "something was measured that nobody may ask for"
        return ""

    def grown(self) -> Iterator[str]:
        """Yields what has grown beyond bounds since the begin, and errors of the web process, in words."""
        yield from map(str, self._troubles)
        gc.collect()
        blocks = sys.getallocatedblocks() - self._blocks
        memory = psutil.Process().memory_info().rss - self._memory
        threads = threading.active_count() - self._threads
        if blocks > _MOST_MORE_BLOCKS:
            yield f"memory in use has grown by {blocks} blocks"
        if memory > _MOST_MORE_BYTES:
            yield f"memory has grown by {memory >> 20} MiB"
        if threads > _MOST_MORE_THREADS:
            yield f"there are {threads} threads more"

    def text(self) -> str:
        """Returns a hostile text: of files, commands, controls, numbers that are too large."""
        rng = self.rng
        file = rng.choice([str(self._folder / name) for name in ("secret", "fifo", "missing", "")])
        file = rng.choice(
            [file, "/etc/shadow", "/dev/zero", "/proc/self/environ", "../" * 9 + "etc/shadow", "/root"]
        )
        return rng.choice(
            [
                *(
                    f"matrix:{file}",
                    f"matrix:file={file}",
                    f"matrix:{file},seed=1",
                    f"{file}",
                    f"file://{file}",
                ),
                *(
                    f"s1 touch {self._mark}",
                    f"$(touch {self._mark})",
                    f"s1;touch {self._mark}",
                    f"`touch {self._mark}`",
                ),
                *(
                    f"link:s1-s6\nsh touch {self._mark}",
                    "link:s1-s6\r\n",
                    "s1\0",
                    "\x1b]0;x\x07",
                    "é",
                    "\ud7ff",
                ),
                rng.choice(["random", "shift", "hotspot", "perm1hop", "threshold"])
                + rng.choice([":", "=", ":by=", ":hosts="])
                + rng.choice(["9" * 300, "-1", "1/0", "nan", "1e999", "\u0663"]),
                *(
                    "x" * rng.choice([4095, 4096, 4097]),
                    ",".join(["link:s1-s6"] * 300),
                    "",
                    " ",
                    "{}",
                    "%s%n",
                    "..",
                    ".",
                ),
                "".join(chr(rng.randrange(32, 127)) for _ in range(rng.randrange(12))),
                "".join(chr(rng.randrange(1, 0x300)) for _ in range(rng.randrange(12))),
            ]
        )

    def value(self, depth: int = 0) -> Any:
        """Returns a hostile value of JSON."""
        rng = self.rng
        if depth < 3 and rng.random() < 0.15:
            return [self.value(depth + 1) for _ in range(rng.randrange(4))]
        if depth < 3 and rng.random() < 0.15:
            return {rng.choice([*_FIELDS, *_FOREIGN]): self.value(depth + 1) for _ in range(rng.randrange(4))}
        odd = (None, True, 0, -1, 1, 0.5, 2**63, -(2**63), 10**300, 1e-320, 1e308)
        return rng.choice(odd) if rng.random() < 0.3 else self.text()

    def arguments(self, action: Verb) -> Any:
        """Returns the content of a request for an action, right in most fields and wrong in some."""
        rng = self.rng
        values = {
            name: rng.choice(_RIGHT[name]) for name in action.request.__struct_fields__ if name in _RIGHT
        }
        wrong = max(1, rng.randrange(3)) if action.name in _LONG else rng.randrange(3)
        for _ in range(wrong):
            values[rng.choice([*action.request.__struct_fields__, *_FOREIGN])] = self.value()
        if action.name in _LONG and rng.random() < 0.5:
            values[rng.choice(_FOREIGN)] = self.value()
        return values if rng.random() < 0.95 else self.value()

    def content(self, action: Verb) -> bytes:
        """Returns the same in JSON, or in what is nearly JSON."""
        while True:
            content = self._nearly_json(action)
            if action.name not in _LONG or not _may_begin(content, action):
                return content

    def _nearly_json(self, action: Verb) -> bytes:
        rng = self.rng
        content = json.dumps(self.arguments(action), ensure_ascii=rng.random() < 0.5).encode()
        if rng.random() < 0.1:
            content = b"[" * rng.choice([10, 900, 5_000]) + content
        if rng.random() < 0.1:
            place = rng.randrange(len(content) + 1)
            content = content[:place] + rng.randbytes(rng.randrange(4)).replace(b"\n", b"") + content[place:]
        return content


def _may_begin(content: bytes, action: Verb) -> bool:
    """Returns whether a request for traffic may be right: of its type, and of a pattern without a file."""
    try:
        pattern = msgspec.json.decode(content, type=action.request).pattern
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    reads = option_of("pattern", RUN).file_named(pattern)
    return not reads and pattern.partition(":")[0] in {*PATTERNS, *COLLECTIVES}


@contextlib.contextmanager
def ground(rng: random.Random) -> Iterator[Ground]:
    """Gives a fabric with its page, in a folder of its own, which is the working directory meanwhile."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            with polarlab.Fabric("polarfly", q=2, routing="ugal-pf", web="0") as fabric:
                yield Ground(fabric, rng, Path(folder))
        finally:
            os.chdir(before)

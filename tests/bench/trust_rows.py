"""What users may rely on: generated attacks that get nothing, and defaults whose results are valid."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rows import Row

sys.path.append(str(Path(__file__).parents[1]))
from support.fixtures.web_requests import ask

_FUZZ = Path(__file__).parents[1] / "fuzz"
_POLARLAB = str(Path(sys.executable).with_name("polarlab"))
_RUNS, _VALID_RUNS = 10, 9
_SECONDS = 12  # of a demonstration that are looked at, from the first that it judges
_LONGEST_START_S = 60


def fuzz() -> list[Row]:
    """All generated attacks, each with its own number of inputs."""
    ended = subprocess.run([sys.executable, _FUZZ], stdout=subprocess.PIPE, text=True, check=False)
    attacks = re.findall(r"^(\w+): (\d+) tried, (\d+) got through", ended.stdout, re.MULTILINE)
    if not attacks:
        raise RuntimeError(f"the attacks ended with status {ended.returncode} and said: {ended.stdout}")
    return [
        Row(
            f"generated attacks, {name}",
            "-",
            f"{int(tried):,} tried, {through} got through",
            "0",
            through == "0",
        )
        for name, tried, through in attacks
    ]


def defaults() -> list[Row]:
    """`run` and `demo web` without a rate of links: how often each is valid on this machine."""
    runs = [_run_is_valid() for _ in range(_RUNS)]
    demonstrations = [_valid_seconds() for _ in range(_RUNS)]
    whole = demonstrations.count(_SECONDS)
    return [
        _row("run polarfly --q 5 --hosts 2 --load 0.5", sum(runs), ""),
        _row("demo web", whole, f"; {sum(demonstrations)} of {_RUNS * _SECONDS} s"),
    ]


def _row(command: str, valid: int, more: str) -> Row:
    text = f"valid: {valid} of {_RUNS} runs{more}"
    return Row(f"{command}, default rate", "-", text, f"{_VALID_RUNS} of {_RUNS}", valid >= _VALID_RUNS)


def _run_is_valid() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        words = [
            "run",
            "polarfly",
            "--q",
            "5",
            "--hosts",
            "2",
            "--load",
            "0.5",
            "--out",
            f"{folder}/run",
            "--json",
        ]
        ended = subprocess.run([_POLARLAB, *words], capture_output=True, text=True, check=True)
    return bool(json.loads(ended.stdout)["fidelity"]["valid"])


def _valid_seconds() -> int:
    """Returns how many of a demonstration's first judged seconds are valid."""
    with _demonstration() as url:
        deadline = time.monotonic() + _LONGEST_START_S
        while _validity(url) is None:
            if time.monotonic() > deadline:
                raise RuntimeError("the demonstration did not judge itself")
            time.sleep(1)
        valid = 0
        for _ in range(_SECONDS):
            valid += _validity(url) is True
            time.sleep(1)
    return valid


@contextmanager
def _demonstration() -> Iterator[str]:
    """Gives the address of a running demonstration's page; Ctrl-C ends it."""
    words = [_POLARLAB, "demo", "web", "--web=0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr
        try:
            yield next(line.split()[-1] for line in process.stderr if "live page: " in line)
        finally:
            process.send_signal(signal.SIGINT)
            process.stderr.read()


def _validity(url: str) -> bool | None:
    status, state = ask(url, "GET", "api/state")
    return state["validity"]["valid"] if status == 200 else None

"""Hostile lines from a web process that somebody has taken over, on a real fabric of ER_2."""

from __future__ import annotations

import contextlib
import json
import random
import time
from collections.abc import Iterator

from support.fixtures.attacked_page import Ground, ground
from support.fixtures.taken_over_page import TakenOver, taken_over, web_processes

from polarlab.web.actions import actions
from polarlab.web.channel import ChannelError, to_fabric

COUNT = 20_000
NEEDS_SWITCHES = True
_BREAKS = 0.008  # of all inputs end the web process
_LONGEST_S = 10.0
_CHANGES = ("fail", "restore", "drain", "undrain", "set-routing")


def attack(count: int, rng: random.Random) -> Iterator[str]:
    """Sends lines, and yields one for each that got at something or did harm."""
    with ground(rng) as on:
        tried = 0
        while tried < count:
            on.fabric.web_start()
            [process] = web_processes()
            with taken_over(process) as channel:
                while tried < count:
                    tried += 1
                    if rng.random() < _BREAKS:
                        yield from _broken(on, channel)
                        break
                    yield from _parsed(on) if rng.random() < 0.3 else _asked(on, channel)
        on.fabric.restore("all")
        if on.fabric.host("h1_1").run("ping -c 1 h5_1").status:
            yield "the fabric does not work any more"
        yield from on.grown()


def _line(on: Ground) -> bytes:
    """Returns a line that is a message, or nearly one."""
    rng = on.rng
    message = {"type": rng.choice(["ask", "watchers", "answer", "state", 7, None]), "number": on.value()}
    message |= {"action": rng.choice([*actions(), on.value()]), "arguments": on.value()}
    message |= {"count": on.value()} if rng.random() < 0.5 else {}
    if rng.random() < 0.5:
        del message[rng.choice(list(message))]
    line = bytearray(json.dumps(message).encode())
    for _ in range(rng.randrange(4)):
        line[rng.randrange(len(line))] = rng.randrange(256)
    if rng.random() < 0.1:
        line += rng.choice([b"[", b'{"a":', b"x"]) * rng.choice([100, 20_000, 70_000])
    return bytes(line)


def _parsed(on: Ground) -> Iterator[str]:
    line = _line(on)
    try:
        to_fabric(line)
    except ChannelError:
        return
    except BaseException as error:  # whatever it is, it should have been a ChannelError
        yield f"{type(error).__name__} of {line[:200]!r}"


def _asked(on: Ground, channel: TakenOver) -> Iterator[str]:
    """Asks for an action, whether the page would or not."""
    action = on.rng.choice([*actions().values()])
    if action.name in _CHANGES and on.rng.random() < 0.8:  # right ones take their time
        content = json.dumps({"elements": on.text(), "parameters": on.text()}).encode()
    else:
        content = on.content(action)
    content = content.replace(b"\n", b" ")
    if _ends(content):
        return
    name = (
        action.name
        if on.rng.random() < 0.97
        else on.rng.choice(["do", "__init__", "changed", "x" * 64, "busy"])
    )
    began_s = time.monotonic()
    answer = channel.answer(channel.ask(name, content))
    text, status = json.dumps(answer), answer["status"]
    if lost := on.lost(text):
        yield f"{lost} by {name} {content[:200]!r}"
    if status not in (200, 400, 409):
        yield f"{status} of {name} {content[:200]!r}: {text[:200]}"
    if time.monotonic() - began_s > _LONGEST_S:
        yield f"{name} {content[:200]!r} took {time.monotonic() - began_s:.0f} s"


def _ends(content: bytes) -> bool:
    """Returns whether arguments make their line one that ends the web process."""
    try:
        to_fabric(b'{"type": "ask", "number": 1, "action": "x", "arguments": ' + content + b"}")
    except ChannelError:
        return True
    return False


def _broken(on: Ground, channel: TakenOver) -> Iterator[str]:
    """Sends what no message is, upon which the process is ended."""
    line = _line(on)
    line = line if _is_broken(line) else b"x" * on.rng.choice([1, 70_000, 1 << 20])
    with contextlib.suppress(OSError):
        channel.send(line + b"\n")
    deadline_s = time.monotonic() + _LONGEST_S
    while web_processes():
        if time.monotonic() > deadline_s:
            yield f"the process lives after {line[:200]!r}"
            return
        time.sleep(0.002)


def _is_broken(line: bytes) -> bool:
    try:
        to_fabric(line.partition(b"\n")[0])
    except ChannelError:
        return True
    return False

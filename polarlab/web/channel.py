"""Messages between the fabric's process and the web process: JSON objects, a line each, on a local socket."""

from __future__ import annotations

from typing import Any

import msgspec

# Longest line: a state of 1,274 links has 30 KB, an archive of results some MB.
MOST_BYTES = 64 << 20


class Ask(msgspec.Struct, tag="ask"):
    """A request of the web process for an action; `number` is repeated in its answer."""

    number: int
    action: str
    arguments: dict[str, Any]


class Watchers(msgspec.Struct, tag="watchers"):
    """The number of clients that are sent states now."""

    count: int


class Answer(msgspec.Struct, tag="answer"):
    """The answer to a request: an HTTP status and a body; or a file with its name, to be sent instead."""

    number: int
    status: int
    body: Any
    file: bytes | None = None
    file_name: str = ""


class About(msgspec.Struct, tag="about"):
    """The description of the fabric that is watched from now on; None between two fabrics."""

    fabric: Any


class Now(msgspec.Struct, tag="state"):
    """A state, which replaces the one before."""

    state: Any


class Event(msgspec.Struct, tag="entry"):
    """An event of the timeline."""

    entry: Any


ToFabric = Ask | Watchers
ToWeb = Answer | About | Now | Event

_to_fabric, _to_web = msgspec.json.Decoder(ToFabric), msgspec.json.Decoder(ToWeb)


def line_of(message: ToFabric | ToWeb) -> bytes:
    """Returns the line of a message."""
    return msgspec.json.encode(message) + b"\n"


def to_fabric(line: bytes) -> ToFabric:
    """Returns the message of a line from the web process; raises msgspec.DecodeError for any other."""
    message: ToFabric = _to_fabric.decode(line)
    return message


def to_web(line: bytes) -> ToWeb:
    """Returns the message of a line from the fabric's process."""
    message: ToWeb = _to_web.decode(line)
    return message

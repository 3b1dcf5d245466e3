"""Messages between the fabric's process and the web process: JSON objects, one per line, on a socket."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from topology.errors import UsageError

# Longest line to the web process: a state of 1,274 links has 30 KB, an archive of results a few MB.
MAX_BYTES = 64 << 20
# Longest line from the web process, which is not trusted.
MAX_ASKED_BYTES = 64 << 10


class Ask(msgspec.Struct, tag="ask", forbid_unknown_fields=True):
    """The web process's request for an action; the answer repeats `number`.

    `arguments` is raw JSON, which the fabric's process decodes by the action's declared type.
    """

    number: Annotated[int, msgspec.Meta(ge=0, le=2**53)]
    action: Annotated[str, msgspec.Meta(max_length=64)]
    arguments: msgspec.Raw


class Watchers(msgspec.Struct, tag="watchers", forbid_unknown_fields=True):
    """The number of clients that currently receive states."""

    count: Annotated[int, msgspec.Meta(ge=0, le=4096)]


class Answer(msgspec.Struct, tag="answer"):
    """The answer to a request: an HTTP status with a body, or with a file and its name."""

    number: int
    status: int
    body: Any
    file: bytes | None = None
    file_name: str = ""


class About(msgspec.Struct, tag="about"):
    """The description of the fabric that is watched from now on; None between two fabrics."""

    fabric: Any


class Now(msgspec.Struct, tag="state"):
    """A state, which replaces the previous one."""

    state: Any


class Event(msgspec.Struct, tag="entry"):
    """An event of the timeline."""

    entry: Any


ToFabric = Ask | Watchers
ToWeb = Answer | About | Now | Event

_to_fabric, _to_web = msgspec.json.Decoder(ToFabric), msgspec.json.Decoder(ToWeb)


def line_of(message: ToFabric | ToWeb) -> bytes:
    """Returns a message as a line."""
    return msgspec.json.encode(message) + b"\n"


def check_length(message: ToWeb) -> None:
    """Raises UsageError if a message is so long that it would end the web process."""
    if (length := len(line_of(message))) > MAX_BYTES:
        raise UsageError(
            f"the live page shows at most {MAX_BYTES >> 20} MiB at a time, got {length / 2**20:.0f} MiB"
        )


class ChannelError(ValueError):
    """An invalid line from the web process, which shows that it is broken or compromised."""


def to_fabric(line: bytes) -> ToFabric:
    """Returns the message in a line from the web process.

    Raises:
        ChannelError: the line is too long or not a message.
    """
    if len(line) > MAX_ASKED_BYTES:
        raise ChannelError(f"a line must be at most {MAX_ASKED_BYTES} bytes")
    try:
        message: ToFabric = _to_fabric.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ChannelError("a line must be a request or a number of watchers") from None
    return message


def to_web(line: bytes) -> ToWeb:
    """Returns the message in a line from the fabric's process."""
    message: ToWeb = _to_web.decode(line)
    return message

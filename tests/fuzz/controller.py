"""Mutated messages of switches, for the door, the frameworks' parsers and what reads their results."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

COUNT = 100_000
LONGEST_S = 1.0  # of one connection
MAX_KIB = 64 * 1024  # that the memory grows by in all
READ, READ_REPLIES = {1, 2, 3, 6, 12, 19, 21}, (1, 4, 7, 13)  # types that the controller reads
TESTS = Path(__file__).parents[1]


def attack(count: int, rng: random.Random) -> Iterator[str]:
    """Yields the connections that a framework, each in a process of its own, did not get over."""
    from controller.openflow.frameworks import FRAMEWORKS, VARIABLE

    names = [one.name for one in FRAMEWORKS.values() if one.installed]
    children = []
    for number, name in enumerate(names):
        share = count // len(names) + (number < count % len(names))
        command = [sys.executable, __file__, str(share), str(rng.getrandbits(32))]
        environment = os.environ | {VARIABLE: name}
        children.append(
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, cwd=TESTS.parent)
        )
    for name, child in zip(names, children, strict=True):
        lines = child.communicate()[0].splitlines()
        yield from (f"{name}: {line}" for line in lines)
        if child.returncode != 0:
            yield f"{name}: the parsers' process ended with status {child.returncode}"


def mutated(messages: list[bytes], rng: random.Random) -> bytes:
    """Returns a message with some faults."""
    changed = bytearray(rng.choice(messages))
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 8))):
        rng.choice(FAULTS)(changed, rng.randrange(len(changed)), messages, rng)
        changed += bytes(max(0, 8 - len(changed)))
    if rng.random() < 0.9:  # else the header's length is another's, or wrong
        del changed[0xFFFF:]
        changed[2:4] = len(changed).to_bytes(2)
    return bytes(changed)


def _length(changed: bytearray, place: int, _messages: list[bytes], rng: random.Random) -> None:
    value = rng.choice((0, 1, 4, 7, 8, 16, len(changed) & 0xFFFF, 0x7FFF, 0xFFFF, rng.randrange(256)))
    changed[place & ~1 : (place & ~1) + 2] = value.to_bytes(2)


def _byte(changed: bytearray, place: int, _messages: list[bytes], rng: random.Random) -> None:
    changed[place] = rng.randrange(256)


def _bit(changed: bytearray, place: int, _messages: list[bytes], rng: random.Random) -> None:
    changed[place] ^= 1 << rng.randrange(8)


def _lack(changed: bytearray, place: int, _messages: list[bytes], rng: random.Random) -> None:
    del changed[place : place + rng.randrange(1, 32)]


def _end(changed: bytearray, place: int, _messages: list[bytes], _rng: random.Random) -> None:
    del changed[place:]


def _splice(changed: bytearray, place: int, messages: list[bytes], rng: random.Random) -> None:
    other = rng.choice(messages)
    changed[place:place] = other[rng.randrange(len(other)) :]


def _noise(changed: bytearray, place: int, _messages: list[bytes], rng: random.Random) -> None:
    changed[place:place] = rng.randbytes(rng.randrange(1, 64))


def _repeat(changed: bytearray, _place: int, _messages: list[bytes], rng: random.Random) -> None:
    if len(changed) < 4096:
        changed += changed[8:] * rng.randrange(1, 40)


def _type(changed: bytearray, _place: int, _messages: list[bytes], rng: random.Random) -> None:
    changed[rng.choice((0, 1, min(9, len(changed) - 1)))] = rng.randrange(40)


FAULTS = (_length, _length, _byte, _bit, _lack, _end, _splice, _noise, _repeat, _type)


def connection(messages: dict[int, list[bytes]], rng: random.Random) -> list[bytes]:
    """Returns what one switch sends, in pieces: its handshake, and what follows."""
    from support.builders.openflow_messages import features, hello, multipart

    version = rng.choice((4, 6))
    sent = mutated([hello(version)], rng) if rng.random() < 0.1 else hello(version)
    sent += features(version, rng.choice((1, 7, 7, 2**64 - 1))) + multipart(version, 13)
    handshake, chosen = sent, messages[version]
    if rng.random() < 0.7:
        chosen = [one for one in chosen if one[1] in READ and (one[1] != 19 or one[9] in READ_REPLIES)]
    sent = b"".join(mutated(chosen, rng) for _ in range(rng.randrange(1, 4)))
    places = sorted(rng.randrange(len(sent)) for _ in range(rng.choice((0, 0, 1, 5))))
    return [handshake] + [sent[a:b] for a, b in zip([0, *places], [*places, len(sent)], strict=True)]


def read(pieces: list[bytes]) -> None:
    """Reads what comes through the door as the controller does."""
    from support.builders.openflow_messages import requests

    from controller.openflow import codec
    from controller.openflow.door import Door, MalformedMessage

    door = Door()
    door.sent(requests(6, *4 * READ_REPLIES))  # a connection has at most three replies
    messages = (message for piece in pieces for message in door.messages(piece))
    with contextlib.suppress(MalformedMessage):
        for message in filter(None, messages):
            use(codec, parsed(codec, message))


def parsed(codec: object, message: bytes) -> object:
    """Parses a message that the door lets through, and that the parsers must therefore not refuse."""
    try:
        return codec.decode(message)
    except ValueError as error:
        raise AssertionError(f"the door lets through what the parsers refuse: {error}") from error


def use(codec: object, message: object) -> None:
    """Reads of a message what the application reads."""
    kind = type(message).__name__
    if kind == "OFPErrorMsg":
        codec.error_text(message)
    elif kind == "OFPGroupDescStatsReply":
        codec.described_groups(message), codec.more_follows(message)
    elif kind in ("OFPFlowStatsReply", "OFPFlowDescStatsReply"):
        [entry.cookie for entry in message.body]
    elif kind == "OFPPortStatsReply":
        [(entry.port_no, entry.tx_bytes, entry.tx_dropped) for entry in message.body]
    elif kind in ("OFPPortDescStatsReply", "OFPPortStatus"):
        for port in [message.desc] if kind == "OFPPortStatus" else message.body:
            codec.port_is_up(port), codec.port_is_set_down(port), port.port_no, port.hw_addr
    elif kind not in ("OFPHello", "OFPEchoRequest", "OFPEchoReply", "OFPSwitchFeatures", "OFPBarrierReply"):
        raise AssertionError(f"{kind} is not read")


def try_all(count: int, rng: random.Random) -> Iterator[str]:
    """Yields the connections that take too long, raise an exception or let the memory grow."""
    from support.builders.openflow_messages import hello, samples
    from support.fixtures.alarms import TooLong, no_longer_than

    messages = {version: samples(version) for version in (4, 6)}
    for sent in (one for version in messages for one in messages[version]):
        read([hello(sent[0]), sent])  # what is made once is made here
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(count):
        pieces = connection(messages, rng)
        try:
            with no_longer_than(LONGEST_S):
                read(pieces)
        except (Exception, TooLong) as error:  # whatever it is, the controller would meet it
            yield f"{type(error).__name__}: {error}: {b''.join(pieces).hex()[:400]}"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if grown > MAX_KIB:
        yield f"memory grew by {grown} KiB"


def main() -> None:
    """Tries connections with this process's framework: their number and the seed are the arguments."""
    import logging
    import warnings

    sys.path[:0] = [str(TESTS), str(TESTS.parent)]
    warnings.simplefilter("ignore")  # of the frameworks
    logging.disable()
    count, seed = map(int, sys.argv[1:])
    for line in try_all(count, random.Random(seed)):
        print(line, flush=True)


if __name__ == "__main__":
    main()

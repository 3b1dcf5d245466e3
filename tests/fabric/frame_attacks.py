"""Frames that a host's root makes up from measured ones.

It puts them into its own interface, as if they had come from the fabric, or sends them into the fabric. It
runs on a host, by the machine's interpreter, with `in` or `out` and the names of a lie and of the interface.
It prints `ready` once it hears measured frames, and upon SIGTERM how many frames it made.
"""

import contextlib
import signal
import socket
import struct
import subprocess
import sys
import time

PROBE, SEGMENT = b"PoLa", b"PoLC"
AT = 54  # where the magic number stands; the run's id comes next
PROBE_FIELDS, SEGMENT_FIELDS = struct.Struct("!QQQQ"), struct.Struct("!IIIHBBQ")
ALL_ONES = (1 << 64) - 1
EVERY = 8  # of the frames that are taken away, one in so many

GIVE = """ip link add g0 type veth peer name g1 && ip link set g0 up && ip link set g1 up
tc qdisc add dev g0 root handle 1: htb
tc filter add dev g0 parent 1: protocol all u32 match u32 0 0 action mirred ingress redirect dev {device}"""
TAKE = """ip link add t0 type veth peer name t1 && ip link set t0 up && ip link set t1 up
tc qdisc add dev {device} clsact
tc filter add dev {device} ingress protocol ip u32 match u32 0x{magic} 0xffffffff at 40 \
match u32 0 {mask} at {place} match u8 0 0xff at 1 action mirred egress redirect dev t0"""


def opened(device, protocol):
    """Returns a packet socket of an interface."""
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    opened.bind((device, protocol))
    opened.settimeout(0.2)
    return opened


def probe(frame, number, sent_ns):
    """Returns a probe with another number and send time, and checks that are right."""
    changed = bytearray(frame)
    PROBE_FIELDS.pack_into(changed, AT + 8, number, sent_ns, number ^ ALL_ONES, sent_ns ^ ALL_ONES)
    return changed


def lost(frame, seen):
    """Yields the probes that are missing before one, of a source that sends to this host alone."""
    number, sent_ns, *_ = PROBE_FIELDS.unpack_from(frame, AT + 8)
    source = frame[26:30]
    if (source, number) in seen:  # one of these
        return
    before, before_ns = seen.get(source, (number, sent_ns))
    for missing in range(before + 1, number):
        seen[source, missing] = True
        after_ns = (sent_ns - before_ns) * (missing - before) // (number - before)
        yield probe(frame, missing, before_ns + after_ns)
    if number >= before:
        seen[source] = number, sent_ns


def sooner(frame, _seen):
    """Yields a probe again, sent a moment ago."""
    if frame[15] == 4:  # one of these
        return
    number, *_ = PROBE_FIELDS.unpack_from(frame, AT + 8)
    changed = probe(frame, number, time.time_ns() - 1_000_000)
    changed[15] = 4  # type of service, by which it is not taken away once more
    yield changed


def copy(frame, seen):
    """Yields a probe once more."""
    if frame not in seen:
        seen[frame] = True
        yield frame


def unknown(frame, _seen):
    """Yields a segment of a message that no rank has, by an early number."""
    _, message, _, length, kind, zero, sent_ns = SEGMENT_FIELDS.unpack_from(frame, AT + 8)
    if message == 0xDEADBEEF:  # one of these
        return
    changed = bytearray(frame[: AT + 8 + SEGMENT_FIELDS.size])
    SEGMENT_FIELDS.pack_into(changed, AT + 8, 1, 0xDEADBEEF, 7, length, kind, zero, sent_ns - 1_000_000)
    yield changed + b"X" * length


# Of each lie: the frames' magic number, which arriving ones are taken away, and the maker of others.
LIES = {
    "lost": (PROBE, None, lost),
    "copy": (PROBE, None, copy),
    "sooner": (PROBE, {"mask": hex(EVERY - 1), "place": 52}, sooner),  # by the probe's number
    "unknown": (SEGMENT, {"mask": hex(EVERY - 1), "place": 48}, unknown),
}


def main():
    """Tells a lie until it is ended."""
    way, lie, device = sys.argv[1:]
    magic, taken, make = LIES[lie]
    if way == "in":
        commands = GIVE + ("\n" + TAKE if taken else "")
        filled = commands.format(device=device, magic=magic.hex(), **(taken or {}))
        subprocess.run(filled, shell=True, check=True)
        heard = opened("t1", 0x0003) if taken else opened(device, 0x0800)
        giver = opened("g0", 0)
    else:
        heard, giver = opened(device, 0x0003), opened(device, 0)
    made, seen, ends = 0, {}, []
    signal.signal(signal.SIGTERM, lambda *_: ends.append(True))
    print("ready", flush=True)
    while not ends:
        with contextlib.suppress(OSError):  # nothing arrives, or the queue is full
            frame, (_, _, direction, *_) = heard.recvfrom(2000)
            outgoing = direction == socket.PACKET_OUTGOING
            if frame[AT : AT + 4] == magic and outgoing == (way == "out"):
                for other in make(frame, seen):
                    giver.send(other)
                    made += 1
    subprocess.run(
        f"ip link del g0; ip link del t0; tc qdisc del dev {device} clsact", shell=True, check=False
    )
    print(made, "made")


if __name__ == "__main__":
    main()

"""Well-formed messages of switches, of every type that OpenFlow 1.3 and 1.5 have."""

import struct

from support.fixtures.fake_switch import FakeSwitch

HEADER = struct.Struct("!BBHI")
TYPES = range(36)
MULTIPART_REQUEST, MULTIPART_REPLY, PORT_STATUS = 18, 19, 12
MATCH = struct.pack("!HHI4xHH", 1, 12, 0x80000004, 0, 0)  # of an ingress port, padded
HANGING = bytes.fromhex("06000010000000010001000000000000")  # a hello whose element has length 0


def message(version, kind, body=b"", xid=1):
    return HEADER.pack(version, kind, HEADER.size + len(body), xid) + body


def hello(version=6):
    return message(version, 0, struct.pack("!HHI", 1, 8, 1 << 1 | 1 << version))  # 1.0 and that


def features(version, datapath_id):
    return message(version, 6, struct.pack("!QIBB2xII", datapath_id, 0, 254, 0, 0, 0))


def multipart(version, kind, body=b"", flags=0):
    return message(version, MULTIPART_REPLY, struct.pack("!HH4x", kind, flags) + body)


def requests(version, *kinds):
    """The requests of a controller for multipart replies of some types."""
    return b"".join(message(version, MULTIPART_REQUEST, struct.pack("!HH4x", kind, 0)) for kind in kinds)


def kinds(received):
    """Yields the types of the messages in some bytes."""
    place = 0
    while place + 8 <= len(received):
        yield received[place + 1]
        place += int.from_bytes(received[place + 2 : place + 4])


def bodies(version):
    """Yields the type and the body of a message of each type, and of each type of multipart reply."""
    switch = FakeSwitch("", 1, 3, version)
    switch.rules = {1: 0xAFAB << 48, 2: 7}
    action = struct.pack("!HHIH6x", 0, 16, 1, 0)
    if version == 4:
        bucket = struct.pack("!HHII4x", 32, 5, 1, 0xFFFFFFFF) + action
    else:
        weight = struct.pack("!HHH2x", 0, 8, 5) + struct.pack("!HHI", 1, 8, 2)
        bucket = struct.pack("!HHI", 40, 16, 0) + action + weight
    switch.groups = {5: (1, 2 * bucket), 6: (3, bucket)}
    port, ethernet = switch.port(2), struct.pack("!HH4xIIIIII", 0, 32, 1, 2, 3, 4, 5, 6)
    if version == 6:
        port = port[:4] + struct.pack("!H", len(port) + 32) + port[6:] + ethernet
    yield 0, struct.pack("!HHI", 1, 8, 1 << version)
    yield 1, struct.pack("!HH", 5, 1) + bytes(64)
    yield 1, struct.pack("!HHI", 0xFFFF, 2300, 0x4F4E4600)  # an experimenter's
    yield from ((kind, b"any bytes") for kind in (2, 3))
    yield 4, struct.pack("!II", 0x2320, 17) + bytes(16)
    yield 6, features(version, 1)[8:]
    yield 8, struct.pack("!HH", 0, 128)
    yield 10, struct.pack("!IHBBQ", 0xFFFFFFFF, 60, 1, 0, 7) + MATCH + bytes(62)
    yield 11, struct.pack("!QHBBIIHHQQ", 7, 1, 0, 0, 1, 1, 0, 0, 9, 9) + MATCH
    yield PORT_STATUS, struct.pack("!B7x", 2) + port
    yield 21, b""
    yield 23, struct.pack("!II", 1, 0) + struct.pack("!IHH8x", 1, 16, 0) + struct.pack("!HH4xH6x", 1, 16, 5)
    yield 25, struct.pack("!I4xQ", 1, 7)
    yield 27, struct.pack("!6I", *range(6))
    yield 30, struct.pack("!IBB2xQ", 1, 0, 0, 7)
    yield 31, struct.pack("!B7x", 0) + struct.pack("!HBBI", 8, 1, 0, 0)
    yield 32, message(version, 15, bytes(8))
    yield 33, struct.pack("!IHH", 1, 1, 0)
    yield 34, struct.pack("!I2xH", 1, 0) + message(version, 14, bytes(40))
    yield 35, struct.pack("!HHI", 16, 0, 1) + bytes(8)
    statistics = struct.pack("!I4x13Q", 2, *range(13))
    if version == 6:
        statistics = struct.pack("!H2xIII8Q", 120, 2, 1, 1, *range(8)) + struct.pack(
            "!HH4x4Q", 0, 40, *range(4)
        )
    described = {kind: b"".join(switch.described(kind)) for kind in (1, 7, 13)}
    described |= {4: 3 * statistics, 13: described[13] + port}
    described |= {0: bytes(1056), 2: struct.pack("!QQI4x", 1, 2, 3), 3: struct.pack("!B3xIQQ", 1, 2, 3, 4)}
    described |= {5: struct.pack("!IIQQQII", *range(7)), 6: struct.pack("!H2xIIIQQII", 40, *range(7))}
    described |= {8: struct.pack("!IIIII20x", *range(5)), 9: struct.pack("!IH6xIQQII", 1, 40, *range(5))}
    described |= {10: struct.pack("!HHI", 24, 1, 1) + bytes(16), 11: struct.pack("!IIIBB2x", *range(5))}
    described |= {12: struct.pack("!HB5x32sQQIIHH", 72, 1, b"t", 1, 2, 3, 4, 0, 8), 14: bytes(64)}
    described |= {15: struct.pack("!IIHH4x", 1, 2, 16, 0), 16: bytes(40), 17: bytes(40), 0xFFFF: bytes(16)}
    yield from ((19, struct.pack("!HH4x", kind, 0) + body) for kind, body in described.items())


def samples(version):
    """Returns messages of every type, all of them well-formed."""
    return [message(version, kind, body) for kind, body in bodies(version)]

"""The door of the controller: what it lets through, and what closes the connection."""

import struct

import pytest
from support.builders.openflow_messages import HANGING, features, hello, message, multipart, requests, samples

from controller.openflow.door import MAX_ENTRIES, MAX_PORTS, Door, MalformedMessage

READ = {0, 1, 2, 3, 6, 12, 19, 21}
UNASKED = {4, 10, 11, 30, 31, 32, 35}  # may come at any time, and are not read
VERSIONS = pytest.mark.parametrize("version", [4, 6])
RULES, STATISTICS, GROUPS, PORTS = 1, 4, 7, 13
MORE = 1


def greeted(version):
    """A door whose switch has greeted."""
    opened = Door()
    assert len(list(opened.messages(hello(version) + features(version, 1)))) == 2
    return opened


def asked(version):
    """A door that takes one reply of every type."""
    opened = greeted(version)
    opened.sent(requests(version, RULES, STATISTICS, GROUPS))
    list(opened.messages(multipart(version, PORTS, flags=MORE)))
    return opened


@pytest.fixture
def door(version):
    return asked(version)


def refused(door, received, *words):
    with pytest.raises(MalformedMessage) as raised:
        list(door.messages(received))
    assert all(word in str(raised.value) for word in words)


@VERSIONS
def test_messages_that_the_controller_reads_come_out_as_they_are(door, version):
    for sent in samples(version):
        kind, reply = sent[1], sent[9] if sent[1] == 19 else None
        if kind in UNASKED:
            assert list(door.messages(sent)) == [b""]
        elif kind in READ - {0} and reply in (None, 1, 4, 7, 13):
            assert list(door.messages(sent)) == [sent]
        else:
            refused(door, sent, "type")
    assert door.datapath_id == 1


@VERSIONS
def test_a_switch_stays_the_one_that_it_said_it_is(door, version):
    refused(door, features(version, 2), "stay 1", "got 2")


@VERSIONS
def test_they_come_out_whole_however_they_arrive(version):
    sent = hello(version) + features(version, 9) + message(version, 2, b"x" * 1000) + message(version, 21)
    whole, opened = list(Door().messages(sent)), Door()
    assert len(whole) == 4
    assert [out for at in range(len(sent)) for out in opened.messages(sent[at : at + 1])] == whole


@pytest.mark.parametrize(
    ("sent", "spoken"),
    [
        (message(4, 0), 4),
        (message(6, 0), 6),
        (message(9, 0), 6),  # a later one has the earlier ones, too
        (message(6, 0, struct.pack("!HHI", 1, 8, 1 << 4 | 1 << 1)), 4),
        (message(5, 0, struct.pack("!HHI", 1, 8, 1 << 5 | 1 << 4)), 4),  # 1.3 and 1.4
        (message(6, 0, struct.pack("!HHII4x", 1, 12, 1 << 6, 0)), 6),  # two words, padded
        (message(6, 0, struct.pack("!HHI", 7, 8, 0) + struct.pack("!HHI", 1, 8, 1 << 4)), 4),
    ],
)
def test_of_a_hello_the_version_to_be_spoken_is_left(sent, spoken):
    opened = Door()
    (out,) = opened.messages(sent)
    assert opened.version == spoken
    assert out == message(spoken, 0, struct.pack("!HHI", 1, 8, 1 << spoken))


@pytest.mark.parametrize(
    "sent",
    [
        HANGING,
        message(6, 0, b"\0\1\0"),
        message(6, 0, struct.pack("!HHI", 1, 12, 0)),
        message(6, 0, struct.pack("!HH", 1, 4000) + bytes(3996)),
        message(1, 0),
        message(5, 0),
        message(6, 0, struct.pack("!HHI", 1, 8, 1 << 5 | 1 << 1)),
        message(6, 2),
        message(6, 6, bytes(24)),
        b"\6\0\0\0\0\0\0\1",
        b"\6\0\0\7\0\0\0\1",
    ],
)
def test_a_connection_begins_with_a_sound_hello(sent):
    refused(Door(), sent)


def lengths(version):
    """Yields what has a length within a message: the message, and the place and least value of the length."""
    for sent in samples(version):
        if (sent[1] == 19 and sent[9] in (1, 7)) or (sent[1] == 19 and sent[9] == 4 and version == 6):
            yield sent, 16, {1: (56, 32), 7: (8, 16), 4: (0, 80)}[sent[9]][version == 6]
        if sent[1] == 19 and sent[9] == 7:
            yield sent, (24, 32)[version == 6], (16, 8)[version == 6]  # a bucket's
        if version == 6 and (sent[1] == 12 or (sent[1] == 19 and sent[9] == 13)):
            yield sent, 20, 40


@VERSIONS
@pytest.mark.parametrize("of", ["0", "1", "less than least", "odd", "beyond the message", "65535"])
def test_a_length_that_is_not_right_is_refused(version, of):
    for sent, place, least in lengths(version):
        value = {
            "0": 0,
            "1": 1,
            "less than least": least - 1,
            "odd": int.from_bytes(sent[place : place + 2]) + 1,
            "beyond the message": len(sent),
            "65535": 65535,
        }[of]
        opened = asked(version)
        refused(opened, sent[:place] + struct.pack("!H", value) + sent[place + 2 :], "length")


@VERSIONS
def test_every_truncated_message_is_refused(door, version):
    for sent in samples(version):
        if sent[1] in (6, 12, 19, 21):
            for size in range(8, len(sent)):
                cut = message(version, sent[1], sent[8:size])
                if sent[1] != 19 or (size != 16 and (size - 16) % (len(sent) - 16)):
                    opened = asked(version)
                    try:
                        out = list(opened.messages(cut))
                    except MalformedMessage:
                        continue
                    assert sent[1] == 19  # it ends between two entries
                    assert out == [cut]


@VERSIONS
def test_the_actions_of_a_bucket_end_within_it(version):
    (sent,) = (one for one in samples(6) if one[1] == 19 and one[9] == 7)
    opened = asked(6)
    refused(opened, sent[:34] + b"\0\x28" + sent[36:], "actions")
    refused(opened, sent[:24] + b"\7\0" + sent[26:], "buckets")


@VERSIONS
def test_a_message_of_another_version_is_refused(door, version):
    for kind in (2, 21):
        refused(door, message(10 - version, kind), "version")


@VERSIONS
def test_an_echo_reply_has_the_version_of_its_request(door, version):
    """Ryu sends an echo request before it has negotiated the version."""
    reply = message(10 - version, 3)
    assert list(door.messages(reply)) == [reply]
    refused(door, message(5, 3), "version")


@VERSIONS
def test_a_switch_that_does_not_speak_the_version_is_refused(door, version):
    refused(door, message(version, 1, bytes(4)), "OpenFlow")


def port(version, number):
    return struct.pack("!I", number) + (bytes(60) if version == 4 else b"\0\x28" + bytes(34))


@VERSIONS
def test_a_switch_has_a_bounded_number_of_ports(door, version):
    for number in [*range(MAX_PORTS), 7]:  # the same port again
        assert list(door.messages(message(version, 12, bytes(8) + port(version, number))))
    refused(door, message(version, 12, bytes(8) + port(version, MAX_PORTS)), "ports")


@VERSIONS
def test_a_description_of_ports_ends(version):
    opened = greeted(version)
    part = multipart(version, PORTS, 512 * port(version, 1), flags=MORE)
    for _ in range(MAX_PORTS // 512):
        assert list(opened.messages(part)) == [part]
    refused(opened, part, "entries")


@VERSIONS
@pytest.mark.parametrize("kind", [RULES, STATISTICS, GROUPS])
def test_a_reply_needs_a_request(version, kind):
    """Anyone can connect, and parsing replies without an end would leave no time for the switches."""
    reply = multipart(version, kind)
    refused(greeted(version), reply, "not requested")
    opened = greeted(version)
    for _ in range(2):
        opened.sent(requests(version, kind, kind))
        part = multipart(version, kind, flags=MORE)
        assert list(opened.messages(part + reply + part + part + reply)) == [part, reply, part, part, reply]
    refused(opened, part, "not requested")


@VERSIONS
def test_ports_are_described_once_and_after_the_features(version):
    reply = multipart(version, PORTS)
    opened = Door()
    list(opened.messages(hello(version)))
    refused(opened, reply, "not requested")
    opened = greeted(version)
    opened.sent(requests(version, PORTS))
    assert list(opened.messages(features(version, 1) + reply)) == [features(version, 1), reply]
    refused(opened, features(version, 1) + reply, "not requested")


@VERSIONS
def test_a_change_of_a_port_before_the_ports_are_described_is_dropped(version):
    """A switch may report it at any time. The description that follows has it, too."""
    status = message(version, 12, bytes(8) + port(version, 1))
    opened = Door()
    for sent in (hello(version), features(version, 1)):
        assert list(opened.messages(sent + status))[1:] == [b""]
    part = multipart(version, PORTS, port(version, 1), flags=MORE)
    assert list(opened.messages(part + status)) == [part, status]


@VERSIONS
def test_a_description_that_never_ends_is_refused(door, version):
    group = struct.pack("!HBxI", 8, 1, 5) if version == 4 else struct.pack("!HBxIH6x", 16, 1, 5, 0)
    part = multipart(version, 7, 4000 * group, flags=1)
    for _ in range(MAX_ENTRIES // 4000):
        assert list(door.messages(part))
    refused(door, part, "entries")

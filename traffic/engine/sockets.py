"""Packet sockets in many network namespaces, opened and used by one process.

A socket stays in the namespace in which it was opened, even if the process enters another one. Frames are
received in batches (recvmmsg), with the kernel's arrival times, into memory that NumPy reads in place.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from topology.errors import MachineError

_ETH_P_ALL = 0x0003
_CLONE_NEWNET = 0x40000000
_SO_ATTACH_FILTER = 26
_SO_SNDBUFFORCE = 32
_SO_RCVBUFFORCE = 33
_SO_TIMESTAMPNS = 35
_MSG_DONTWAIT, _MSG_TRUNC = 0x40, 0x20
_PR_SET_TIMERSLACK = 29
# Room for the frames in a host's own queue, and for frames that arrive between two readings.
_SEND_BUFFER_BYTES = 8 << 20
_RECEIVE_BUFFER_BYTES = 8 << 20

# 32-bit words that a frame must contain: (offset in bytes, value). The kernel drops all other frames.
Words = Sequence[tuple[int, int]]
# Loads from these offsets return the kernel's metadata of a frame (SKF_AD_OFF in linux/filter.h).
_KERNEL_KNOWS = 0xFFFFF000
_IPV4, _SENT = (_KERNEL_KNOWS, 0x0800), (_KERNEL_KNOWS + 4, socket.PACKET_OUTGOING)
_RANDOM_NUMBER = _KERNEL_KNOWS + 56

_libc = ctypes.CDLL(None, use_errno=True)


def sleep_precisely() -> None:
    """Disables the kernel's timer slack, which may wake this thread up to 50 us late."""
    _libc.prctl(_PR_SET_TIMERSLACK, 1)


def run_first() -> None:
    """Requests real-time priority for this process; does nothing if that is not permitted.

    Without it, a traffic generator would wait for the switches that it loads, and send at their speed instead
    of on schedule.
    """
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


@contextlib.contextmanager
def namespaces() -> Iterator[None]:
    """Restores the current network namespace at the end of the block, in which `enter` may be called."""
    with open("/proc/self/ns/net") as home:
        try:
            yield
        finally:
            _set_namespace(home.fileno())


def enter(pid: int) -> None:
    """Moves this thread to the network namespace of a process.

    Raises:
        MachineError: the other process has ended, or this one does not run as root.
    """
    try:
        with open(Path("/proc", str(pid), "ns", "net")) as namespace:
            _set_namespace(namespace.fileno())
    except OSError as error:
        raise MachineError(
            f"cannot enter the namespace of process {pid} ({error.strerror}); run as root"
        ) from error


class HostNamespaces:
    """Network namespaces of hosts, kept open so that entering one takes a single system call."""

    def __init__(self, pids: Iterable[int]) -> None:
        """Opens the namespaces of the processes; raises MachineError if one has ended."""
        try:
            self._descriptors = [os.open(f"/proc/{pid}/ns/net", os.O_RDONLY) for pid in pids]
        except OSError as error:
            raise MachineError(f"cannot open the hosts' namespaces ({error.strerror})") from error

    def enter(self, index: int) -> None:
        """Moves this thread to the namespace of the process with the given index."""
        _set_namespace(self._descriptors[index])

    def close(self) -> None:
        """Closes the namespaces."""
        for descriptor in self._descriptors:
            os.close(descriptor)


def _set_namespace(descriptor: int) -> None:
    if _libc.setns(descriptor, _CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def open_all(
    places: Iterable[tuple[int, str]], opener: Callable[[str], socket.socket]
) -> list[socket.socket]:
    """Opens a socket for each (process, interface), in that process's namespace.

    Raises:
        MachineError: one of the processes has ended, or this one does not run as root.
    """
    opened = []
    with namespaces():
        for pid, interface in places:
            enter(pid)
            opened.append(opener(interface))
    return opened


def open_sender(interface: str) -> socket.socket:
    """Opens a non-blocking socket that sends frames unchanged."""
    sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sender.bind((interface, 0))
    sender.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _SEND_BUFFER_BYTES)
    sender.setblocking(False)
    return sender


def interface_is_down(error: OSError) -> bool:
    """Returns whether a packet was not sent because its interface is down or gone; False for a full queue."""
    return error.errno in (errno.ENETDOWN, errno.ENXIO, errno.ENODEV)


def open_receiver(interface: str, words: Words) -> socket.socket:
    """Opens a socket that receives, with timestamps, those frames sent by an interface that contain `words`.

    The frames are seen and stamped as they leave, after all queues. On the switch's interface to a host these
    are the host's arrivals, out of reach of whoever is root on the host.
    """
    return _listening(interface, packet_filter([_SENT, *words]))


def open_sampler(interface: str, every: int) -> socket.socket:
    """Opens a socket that receives a random sample of the IPv4 frames that an interface sends.

    Args:
        interface: the interface.
        every: one frame in `every` is received, on average; a power of two.
    """
    return _listening(interface, packet_filter([_SENT, _IPV4], every))


def _listening(interface: str, program: bytes) -> socket.socket:
    receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    buffer = ctypes.create_string_buffer(program)
    descriptor = struct.pack("HL", len(program) // 8, ctypes.addressof(buffer))
    receiver.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, descriptor)
    receiver.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BUFFER_BYTES)
    receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    # Only sockets for all protocols see the frames that an interface sends.
    receiver.bind((interface, _ETH_P_ALL))  # last, so that no packet bypasses the filter
    return receiver


def packet_filter(words: Words, every: int = 1) -> bytes:
    """Returns a classic BPF program that accepts a random sample of the frames with these words.

    Args:
        words: 32-bit words that a frame must contain; offsets from 0xFFFFF000 on select the
            kernel's metadata of the frame.
        every: one frame in `every` is accepted, on average; a power of two.
    """
    load_word, jump_if_equal, jump_if_any_bit, return_ = 0x20, 0x15, 0x45, 0x06
    instructions = []
    for number, (offset, value) in enumerate(words):
        to_rejection = 2 * (len(words) - number) + 1
        instructions += [(load_word, 0, 0, offset), (jump_if_equal, 0, to_rejection, value)]
    instructions += [(load_word, 0, 0, _RANDOM_NUMBER), (jump_if_any_bit, 1, 0, every - 1)]
    instructions += [(return_, 0, 0, 0xFFFF), (return_, 0, 0, 0)]
    return b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)


# struct mmsghdr on x86-64 and arm64 Linux: a msghdr and the length of the received message.
_MESSAGE = np.dtype(
    [
        ("name", np.uint64),
        ("name_length", np.uint64),
        ("vector", np.uint64),
        ("vector_length", np.uint64),
        ("control", np.uint64),
        ("control_length", np.uint64),
        ("flags", np.int32),
        ("pad", np.int32),
        ("length", np.uint32),
        ("pad2", np.uint32),
    ]
)
_CONTROL = np.dtype(
    [
        ("length", np.uint64),
        ("level", np.int32),
        ("type", np.int32),
        ("seconds", np.int64),
        ("nanoseconds", np.int64),
    ]
)


class ReceiveBuffer:
    """Memory for received frames, or their first bytes; filled from many sockets, then read in bulk.

    Attributes:
        frames: uint8 array, slots x bytes: the first bytes of each frame.
    """

    def __init__(self, slots: int, frame_bytes: int) -> None:
        slot_bytes = -(-frame_bytes // 32) * 32
        self.frames = np.zeros((slots, slot_bytes), np.uint8)
        self._controls = np.zeros(slots, _CONTROL)
        vectors = np.zeros((slots, 2), np.uint64)
        vectors[:, 0] = self.frames.ctypes.data + np.arange(slots) * slot_bytes
        vectors[:, 1] = slot_bytes
        self._vectors = vectors
        self._messages = np.zeros(slots, _MESSAGE)
        self._messages["vector"] = vectors.ctypes.data + np.arange(slots) * 16
        self._messages["vector_length"] = 1
        self._messages["control"] = self._controls.ctypes.data + np.arange(slots) * _CONTROL.itemsize
        self._messages["control_length"] = _CONTROL.itemsize
        self._address = self._messages.ctypes.data
        self._receive = _libc.recvmmsg
        self._receive.argtypes = [
            ctypes.c_int,
            ctypes.c_void_p,
            ctypes.c_uint,
            ctypes.c_int,
            ctypes.c_void_p,
        ]

    def receive(self, descriptor: int, first: int, limit: int) -> int:
        """Receives at most `limit` frames into the slots from `first` on, and returns their number.

        Raises:
            OSError: the socket failed.
        """
        address = self._address + first * _MESSAGE.itemsize
        count: int = self._receive(descriptor, address, limit, _MSG_DONTWAIT | _MSG_TRUNC, None)
        if count >= 0:
            return count
        number = ctypes.get_errno()
        if number in (errno.EAGAIN, errno.EINTR, errno.ENETDOWN):
            return 0
        raise OSError(number, os.strerror(number))

    def lengths(self, count: int) -> npt.NDArray[np.int64]:
        """Returns the full lengths in bytes of the frames in the first `count` slots."""
        return self._messages["length"][:count].astype(np.int64)

    def arrivals_ns(self, count: int) -> npt.NDArray[np.int64]:
        """Returns the arrival times of the frames in the first `count` slots, in ns since the epoch."""
        control = self._controls[:count]
        times: npt.NDArray[np.int64] = control["seconds"] * 1_000_000_000 + control["nanoseconds"]
        return times

    def reset(self, count: int) -> None:
        """Prepares the first `count` slots for the next frames."""
        self._messages["control_length"][:count] = _CONTROL.itemsize

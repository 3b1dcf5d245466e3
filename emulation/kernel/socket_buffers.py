"""Buffers of the packet sockets through which a switch's program sends and receives.

The userspace datapath sends through one packet socket for all ports, and a frame counts against that socket's
send buffer until it has left its port's queue. By default the buffer has 208 KiB, about 90 frames of 1,000
bytes. The full queues of a few ports use up the buffer, and frames for idle ports are dropped: on ER_5 under
tornado traffic at full load, six of ten losses were of this kind (measured). The send buffer is therefore
made as large as the queues.

Frames that arrive while the program is not scheduled wait in the receive buffer of their port, also 208 KiB:
about 280 of the smallest frames. At 4,000 probes a second, a program that paused for 120 ms lost a hundred
of them (measured), and no counter of an interface or queue showed it. So this buffer is enlarged, too.

The buffers are set on copies of the running ovs-vswitchd's descriptors (pidfd_getfd(2)), so the machine's
default does not change.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import stat

from topology.errors import MachineError

# Upper bound of the bytes that a frame counts against a socket's buffer: its memory, a power of two, and its
# bookkeeping.
_MIN_FRAME_COST_BYTES, _FRAME_COST = 4096, 2.5
_MAX_BYTES = (1 << 30) - 1  # the kernel doubles the value and counts in 32 bits
_RECEIVE_BYTES = 512 << 10  # doubled: 1,300 of the smallest frames, 450 of 1,000 bytes
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33  # Linux, <asm-generic/socket.h>; Python has no names for them
_PIDFD_GETFD = 438  # the same on all architectures
_libc = ctypes.CDLL(None, use_errno=True)


def enlarge_buffers(pid: int, frames: int, frame_bytes: int) -> None:
    """Enlarges the buffers of every packet socket of a process.

    Sockets that the process closes meanwhile are skipped.

    Args:
        pid: the process.
        frames: number of frames for which the send buffer of each socket has room.
        frame_bytes: length of the longest frame.

    Raises:
        MachineError: the kernel refuses, or the process has no packet sockets.
    """
    cost_bytes = max(_MIN_FRAME_COST_BYTES, round(_FRAME_COST * frame_bytes))
    send_bytes = min(frames * cost_bytes, _MAX_BYTES)
    try:
        process = os.pidfd_open(pid)
    except OSError as error:
        raise MachineError(f"cannot enlarge the socket buffers of a switch: {error.strerror}") from error
    try:
        enlarged = sum(_enlarge(process, int(name), send_bytes) for name in os.listdir(f"/proc/{pid}/fd"))
    except OSError as error:
        raise MachineError(f"cannot enlarge the socket buffers of a switch: {error.strerror}") from error
    finally:
        os.close(process)
    if not enlarged:
        raise MachineError("cannot enlarge the socket buffers of a switch: it has no packet sockets")


def _enlarge(process: int, descriptor: int, send_bytes: int) -> bool:
    """Enlarges the buffers of a process's descriptor if it is a packet socket; returns whether it is."""
    try:
        copy = _copy_of(process, descriptor)
    except OSError as error:
        if error.errno == errno.EBADF:  # closed meanwhile
            return False
        raise
    if not stat.S_ISSOCK(os.fstat(copy).st_mode):
        os.close(copy)
        return False
    with socket.socket(fileno=copy) as opened:
        if opened.family != socket.AF_PACKET:
            return False
        opened.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, send_bytes)
        opened.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BYTES)
    return True


def _copy_of(process: int, descriptor: int) -> int:
    copy = _libc.syscall(_PIDFD_GETFD, process, descriptor, 0)
    if copy < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(copy)

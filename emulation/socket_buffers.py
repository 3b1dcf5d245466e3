"""Room in the packet sockets by which a switch's program sends and receives.

The userspace datapath sends by all ports through one packet socket, and a frame counts against that socket's
send buffer until it has left its port's queue. Linux gives it 208 KiB, some 90 frames of 1,000 bytes. Where a
few ports' queues are full, that is used up, and frames for ports that are free are dropped: on ER_5 under a
tornado at full load six of ten losses were of this kind. So the buffer is made as large as the queues.

What arrives while the program has no processor waits in the receive buffer of its port, of 208 KiB too: some
280 of the smallest frames. A program that stood still for 120 ms lost a hundred of 4,000 probes a second, and
no counter of an interface or a queue told it. So that buffer is made larger as well.

Only the sockets of a running ovs-vswitchd can be told apart from the machine's default, hence the copies of
its descriptors (pidfd_getfd(2)).
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import stat

from topology.errors import MachineError

# What a frame counts against a socket's buffer, at most: its memory, a power of two, and its bookkeeping.
_LEAST_FRAME_COST_BYTES, _FRAME_COST = 4096, 2.5
_MOST_BYTES = (1 << 30) - 1  # the kernel doubles what it is told, and counts in 32 bits
_RECEIVE_BYTES = 512 << 10  # doubled: 1,300 of the smallest frames, 450 of 1,000 bytes
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33  # Linux, <asm-generic/socket.h>; Python has no names for them
_PIDFD_GETFD = 438  # the same on all architectures


def enlarge_buffers(pid: int, frames: int, frame_bytes: int) -> None:
    """Gives every packet socket of a process room to send so many frames of a length, and to receive more.

    Sockets that the process closes while this looks are passed over.

    Raises:
        MachineError: the kernel does not let us, or the process has none.
    """
    cost_bytes = max(_LEAST_FRAME_COST_BYTES, round(_FRAME_COST * frame_bytes))
    send_bytes = min(frames * cost_bytes, _MOST_BYTES)
    try:
        process = os.pidfd_open(pid)
    except OSError as error:
        raise MachineError(f"a switch's buffers cannot be enlarged ({error.strerror})") from error
    try:
        found = sum(_enlarge(process, int(name), send_bytes) for name in os.listdir(f"/proc/{pid}/fd"))
    except OSError as error:
        raise MachineError(f"a switch's buffers cannot be enlarged ({error.strerror})") from error
    finally:
        os.close(process)
    if not found:
        raise MachineError("a switch has no packet socket to enlarge the buffers of")


def _enlarge(process: int, descriptor: int, send_bytes: int) -> bool:
    """Returns whether a descriptor is a packet socket's; then its buffers are enlarged."""
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
    libc = ctypes.CDLL(None, use_errno=True)
    copy = libc.syscall(_PIDFD_GETFD, process, descriptor, 0)
    if copy < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(copy)

"""Room for all of a switch's queues in the one socket that it sends through.

The userspace datapath sends by all ports through one packet socket, and a frame counts against that socket's
send buffer until it has left its port's queue. Linux gives it 208 KiB, some 90 frames of 1,000 bytes. Where a
few ports' queues are full, that is used up, and frames for ports that are free are dropped: on ER_5 under a
tornado at full load six of ten losses were of this kind. So the buffer is made as large as the queues. Only
the socket of a running ovs-vswitchd can be told apart from the machine's default, hence the copies of its
descriptors (pidfd_getfd(2)).
"""

from __future__ import annotations

import ctypes
import os
import socket
from pathlib import Path

from topology.errors import MachineError

# What a frame counts against a socket's buffer, at most: its memory, a power of two, and its bookkeeping.
_LEAST_FRAME_COST_BYTES, _FRAME_COST = 4096, 2.5
_MOST_BYTES = (1 << 30) - 1  # the kernel doubles what it is told, and counts in 32 bits
_SO_SNDBUFFORCE = 32  # Linux, <asm-generic/socket.h>; Python has no name for it
_PIDFD_GETFD = 438  # the same on all architectures


def enlarge_send_buffers(pid: int, frames: int, frame_bytes: int) -> None:
    """Gives every packet socket of a process room for so many frames of a length.

    Raises:
        MachineError: the kernel does not let us, or the process has none.
    """
    cost_bytes = max(_LEAST_FRAME_COST_BYTES, round(_FRAME_COST * frame_bytes))
    size = min(frames * cost_bytes, _MOST_BYTES)
    try:
        process = os.pidfd_open(pid)
    except OSError as error:
        raise MachineError(f"a switch's send buffer cannot be enlarged ({error.strerror})") from error
    try:
        found = 0
        for name in os.listdir(f"/proc/{pid}/fd"):
            if not _is_socket(Path(f"/proc/{pid}/fd/{name}")):
                continue
            with socket.socket(fileno=_copy_of(process, int(name))) as copy:
                if copy.family == socket.AF_PACKET:
                    copy.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, size)
                    found += 1
        if not found:
            raise MachineError("a switch has no packet socket to enlarge the buffer of")
    except OSError as error:
        raise MachineError(f"a switch's send buffer cannot be enlarged ({error.strerror})") from error
    finally:
        os.close(process)


def _is_socket(path: Path) -> bool:
    try:
        return os.readlink(path).startswith("socket:")
    except FileNotFoundError:  # closed meanwhile
        return False


def _copy_of(process: int, descriptor: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    copy = libc.syscall(_PIDFD_GETFD, process, descriptor, 0)
    if copy < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(copy)

"""Terminals of hosts: pseudo-terminals that the machine and other hosts do not have."""

from __future__ import annotations

import fcntl
import os
import stat
import struct
from typing import NamedTuple

_MULTIPLEXER, _DEVICE = "/dev/pts/ptmx", os.makedev(5, 2)
_TIOCGPTN, _TIOCSPTLCK, _TIOCGPTPEER = 0x80045430, 0x40045431, 0x5441
_NUMBER = struct.Struct("=i")


class Terminal(NamedTuple):
    """A pseudo-terminal: its two ends as open files, and the name of the second one on the host."""

    master: int
    slave: int
    name: str


def open_terminal() -> Terminal:
    """Opens a new terminal of the file system of terminals in this namespace.

    Raises:
        OSError: there is none.
    """
    flags = os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC
    master = os.open(_MULTIPLEXER, flags | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        status = os.fstat(master)
        if (
            not stat.S_ISCHR(status.st_mode) or status.st_rdev != _DEVICE
        ):  # a program has put another one there
            raise FileNotFoundError(None, f"{_MULTIPLEXER} is none of terminals")
        fcntl.ioctl(master, _TIOCSPTLCK, _NUMBER.pack(0))
        number = _NUMBER.unpack(fcntl.ioctl(master, _TIOCGPTN, _NUMBER.pack(0)))[0]
        slave = fcntl.ioctl(master, _TIOCGPTPEER, flags)
        os.set_inheritable(slave, False)
        os.set_blocking(master, True)
    except BaseException:
        os.close(master)
        raise
    return Terminal(master, slave, f"/dev/pts/{number}")
